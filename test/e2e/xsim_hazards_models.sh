#!/bin/sh
# What xsim_hazards.sh asks of one model, of four others; with sanitizers it would take minutes.
# usage: xsim_hazards_models.sh BUILD_DIR WORK_DIR
. "$(dirname "$0")/common.sh"

planted_hazards mobilenet_v2 resnet50 bert_base vit_b_16

finish
