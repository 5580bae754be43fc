"""Small models of transformers and timm with random weights, and networks written out."""
import torch
from torch import nn
from torch.nn import functional as F

from common import Table
from torch_common import import_timm, make_decoder
from torch_layers import Fn

table = Table()
rand, randn, randint = torch.rand, torch.randn, torch.randint


class Outputs(nn.Module):
    """A model of transformers that returns chosen members."""

    def __init__(self, model, names, inputs):
        super().__init__()
        self.model, self.names, self.inputs = model, names, inputs

    def forward(self, *args):
        out = self.model(**dict(zip(self.inputs, args)), return_dict=True)
        values = tuple(getattr(out, n) for n in self.names)
        return values[0] if len(values) == 1 else values


def ids(b, s, high=60):
    return randint(3, high, (b, s))


def tokens(b, s):
    mask = torch.ones(b, s, dtype=torch.long)
    mask[0, -1] = 0
    return ids(b, s), mask


def tr(model, config, sizes, names=("logits",), inputs=("input_ids", "attention_mask"), calls=None, axes={0: {0: "b", 1: "s"}, 1: {0: "b", 1: "s"}}, attention="eager", prepare=None, **options):
    """A class of transformers with its configuration's class and sizes."""
    def make():
        import transformers
        c = getattr(transformers, config)(**sizes)
        c._attn_implementation = attention
        c._experts_implementation = "eager"
        c.use_cache = False
        m = getattr(transformers, model)(c).eval()
        m.config.return_dict = True
        return (Outputs(m, names, inputs),) + tuple(f() for f in (calls or (lambda: tokens(2, 6), lambda: tokens(3, 9))))
    table("hf_" + options.pop("name", model), make, axes=axes, **options)


SMALL = dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=32)
HIDDEN = ("last_hidden_state",)
tr("BertModel", "BertConfig", SMALL, HIDDEN + ("pooler_output",))
tr("BertForSequenceClassification", "BertConfig", SMALL, attention="sdpa")
tr("BertForTokenClassification", "BertConfig", SMALL)
tr("BertForMaskedLM", "BertConfig", SMALL)
tr("RobertaModel", "RobertaConfig", SMALL, HIDDEN)
tr("DistilBertModel", "DistilBertConfig", dict(vocab_size=64, dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=32), HIDDEN)
tr("AlbertModel", "AlbertConfig", dict(SMALL, embedding_size=8), HIDDEN)
tr("ElectraForPreTraining", "ElectraConfig", dict(SMALL, embedding_size=8))
tr("DebertaModel", "DebertaConfig", dict(SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"]), HIDDEN)
tr("DebertaV2Model", "DebertaV2Config", dict(SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True), HIDDEN)
tr("MPNetModel", "MPNetConfig", SMALL, HIDDEN)
tr("FNetModel", "FNetConfig", dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, intermediate_size=32, max_position_embeddings=32), HIDDEN, inputs=("input_ids",), calls=(lambda: (ids(2, 6),),), axes=None, exporters=("dy",))
tr("SqueezeBertModel", "SqueezeBertConfig", dict(SMALL, embedding_size=16, q_groups=2, k_groups=2, v_groups=2, post_attention_groups=1, intermediate_groups=2, output_groups=2), HIDDEN)
tr("XLMRobertaModel", "XLMRobertaConfig", SMALL, HIDDEN)
tr("ModernBertModel", "ModernBertConfig", dict(SMALL, local_attention=4, pad_token_id=0), HIDDEN)
tr("GPT2LMHeadModel", "GPT2Config", dict(vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=32))
tr("GPTNeoXForCausalLM", "GPTNeoXConfig", SMALL)
tr("GPTJForCausalLM", "GPTJConfig", dict(vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=32, rotary_dim=4))
tr("GPTNeoForCausalLM", "GPTNeoConfig", dict(vocab_size=64, hidden_size=16, num_layers=2, num_heads=2, attention_types=[[["global", "local"], 1]], max_position_embeddings=32, window_size=4))
tr("OPTForCausalLM", "OPTConfig", dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=32, max_position_embeddings=32, word_embed_proj_dim=16))
tr("BloomForCausalLM", "BloomConfig", dict(vocab_size=64, hidden_size=16, n_layer=2, n_head=2))
tr("FalconForCausalLM", "FalconConfig", dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2))
LLAMA = dict(SMALL, num_key_value_heads=1)
tr("LlamaForCausalLM", "LlamaConfig", LLAMA)
tr("MistralForCausalLM", "MistralConfig", dict(LLAMA, sliding_window=4))
tr("Qwen2ForCausalLM", "Qwen2Config", LLAMA)
tr("Qwen3ForCausalLM", "Qwen3Config", dict(LLAMA, head_dim=8))
tr("GemmaForCausalLM", "GemmaConfig", dict(LLAMA, head_dim=8))
tr("Gemma2ForCausalLM", "Gemma2Config", dict(LLAMA, head_dim=8, sliding_window=4))
tr("PhiForCausalLM", "PhiConfig", LLAMA)
tr("Phi3ForCausalLM", "Phi3Config", dict(LLAMA, pad_token_id=0))
tr("OlmoForCausalLM", "OlmoConfig", LLAMA)
tr("CohereForCausalLM", "CohereConfig", LLAMA)
tr("StableLmForCausalLM", "StableLmConfig", LLAMA)
tr("GraniteForCausalLM", "GraniteConfig", LLAMA)
tr("SmolLM3ForCausalLM", "SmolLM3Config", dict(LLAMA, pad_token_id=0))
tr("MixtralForCausalLM", "MixtralConfig", dict(LLAMA, num_local_experts=3, num_experts_per_tok=2))
tr("Qwen2MoeForCausalLM", "Qwen2MoeConfig", dict(LLAMA, num_experts=3, num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=16))
tr("MambaForCausalLM", "MambaConfig", dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, state_size=4), inputs=("input_ids",), calls=(lambda: (ids(2, 6),), lambda: (ids(3, 6),)), axes={0: {0: "b"}})
tr("Mamba2ForCausalLM", "Mamba2Config", dict(vocab_size=64, hidden_size=16, num_hidden_layers=1, state_size=4, num_heads=4, head_dim=8, n_groups=1, chunk_size=4), inputs=("input_ids",), calls=(lambda: (ids(2, 6),),), axes=None)
tr("RwkvForCausalLM", "RwkvConfig", dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, attention_hidden_size=16, context_length=16), inputs=("input_ids",), calls=(lambda: (ids(2, 4),),), axes=None)
tr("XGLMForCausalLM", "XGLMConfig", dict(vocab_size=64, d_model=16, num_layers=2, attention_heads=2, ffn_dim=32, max_position_embeddings=32))
tr("BartForConditionalGeneration", "BartConfig", dict(vocab_size=64, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32),
   inputs=("input_ids", "decoder_input_ids"), calls=(lambda: (ids(2, 6), ids(2, 4)), lambda: (ids(2, 8), ids(2, 5))), axes={0: {0: "b", 1: "s"}, 1: {0: "b", 1: "t"}})
tr("T5ForConditionalGeneration", "T5Config", dict(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, relative_attention_num_buckets=8, relative_attention_max_distance=16),
   inputs=("input_ids", "decoder_input_ids"), calls=(lambda: (ids(2, 6), ids(2, 4)), lambda: (ids(2, 8), ids(2, 5))), axes={0: {0: "b", 1: "s"}, 1: {0: "b", 1: "t"}})
tr("T5EncoderModel", "T5Config", dict(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, feed_forward_proj="gated-gelu"), HIDDEN)
tr("MarianMTModel", "MarianConfig", dict(vocab_size=64, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32, pad_token_id=0, decoder_start_token_id=1),
   inputs=("input_ids", "decoder_input_ids"), calls=(lambda: (ids(2, 6), ids(2, 4)),), axes=None)
tr("PegasusModel", "PegasusConfig", dict(vocab_size=64, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32), HIDDEN,
   inputs=("input_ids", "decoder_input_ids"), calls=(lambda: (ids(2, 6), ids(2, 4)),), axes=None)

PIXELS = ("pixel_values",)


def images(*sizes):
    return tuple(lambda s=s: (randn(*s),) for s in sizes)


def vision(model, config, sizes, names=("logits",), size=32, **options):
    tr(model, config, sizes, names, PIXELS, images((1, 3, size, size), (2, 3, size, size)), {0: {0: "b"}}, **options)


VIT = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8)
vision("ViTForImageClassification", "ViTConfig", VIT)
vision("DeiTModel", "DeiTConfig", VIT, HIDDEN)
vision("BeitModel", "BeitConfig", dict(VIT, use_relative_position_bias=True), HIDDEN)
vision("Dinov2Model", "Dinov2Config", VIT, HIDDEN)
vision("SwinForImageClassification", "SwinConfig", dict(image_size=32, patch_size=4, embed_dim=8, depths=[1, 2], num_heads=[2, 2], window_size=4))
vision("Swinv2Model", "Swinv2Config", dict(image_size=32, patch_size=4, embed_dim=8, depths=[1, 2], num_heads=[2, 2], window_size=4), HIDDEN)
vision("ConvNextForImageClassification", "ConvNextConfig", dict(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2))
vision("ResNetForImageClassification", "ResNetConfig", dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]))
vision("RegNetForImageClassification", "RegNetConfig", dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=4))
vision("SegformerForSemanticSegmentation", "SegformerConfig", dict(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16], patch_sizes=[3, 3], strides=[2, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16))
vision("MobileViTForImageClassification", "MobileViTConfig", dict(image_size=32, hidden_sizes=[12, 16, 20], neck_hidden_sizes=[8, 8, 12, 12, 16, 20, 24], num_attention_heads=2), size=64)
vision("PoolFormerForImageClassification", "PoolFormerConfig", dict(depths=[1, 1], hidden_sizes=[8, 16], num_encoder_blocks=2, patch_sizes=[7, 3], strides=[4, 2], padding=[2, 1]))
vision("EfficientNetForImageClassification", "EfficientNetConfig", dict(width_coefficient=0.2, depth_coefficient=0.2, hidden_dim=256, image_size=32))
vision("MobileNetV2ForImageClassification", "MobileNetV2Config", dict(depth_multiplier=0.35, image_size=32))
vision("DPTForDepthEstimation", "DPTConfig", dict(hidden_size=16, num_hidden_layers=4, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8, 8, 8], fusion_hidden_size=8, is_hybrid=False), ("predicted_depth",))
vision("YolosForObjectDetection", "YolosConfig", dict(VIT, image_size=[32, 32], num_detection_tokens=5), ("logits", "pred_boxes"))
tr("DetrForObjectDetection", "DetrConfig", dict(d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=5, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                                               backbone_config=None), ("logits", "pred_boxes"), PIXELS, images((1, 3, 64, 64)), None, name="DetrForObjectDetection")
tr("CLIPModel", "CLIPConfig", dict(text_config=dict(SMALL, eos_token_id=2, bos_token_id=1), vision_config=VIT, projection_dim=8), ("logits_per_image", "text_embeds", "image_embeds"), ("input_ids", "pixel_values", "attention_mask"),
   (lambda: (ids(2, 6), randn(2, 3, 32, 32), torch.ones(2, 6, dtype=torch.long)),), None)
tr("SiglipModel", "SiglipConfig", dict(text_config=dict(SMALL), vision_config=VIT), ("logits_per_image",), ("input_ids", "pixel_values"), (lambda: (ids(2, 6), randn(2, 3, 32, 32)),), None)
tr("BlipForConditionalGeneration", "BlipConfig", dict(text_config=dict(SMALL, encoder_hidden_size=16), vision_config=VIT), ("logits",), ("pixel_values", "input_ids"), (lambda: (randn(1, 3, 32, 32), ids(1, 6)),), None)
tr("ViltModel", "ViltConfig", dict(SMALL, image_size=32, patch_size=8, max_image_length=-1), HIDDEN, ("input_ids", "pixel_values", "pixel_mask"), (lambda: (ids(1, 6), randn(1, 3, 32, 32), torch.ones(1, 32, 32, dtype=torch.long)),), None)
tr("WhisperForConditionalGeneration", "WhisperConfig", dict(vocab_size=64, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8, max_source_positions=20, max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1),
   ("logits",), ("input_features", "decoder_input_ids"), (lambda: (randn(2, 8, 40), ids(2, 5)), lambda: (randn(1, 8, 40), ids(1, 5))), {0: {0: "b"}, 1: {0: "b"}})
W2V = dict(vocab_size=20, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, conv_dim=[8, 8], conv_stride=[4, 2], conv_kernel=[8, 3], num_feat_extract_layers=2, num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2)
for m, c in [("Wav2Vec2ForCTC", "Wav2Vec2Config"), ("HubertForCTC", "HubertConfig"), ("WavLMModel", "WavLMConfig"), ("UniSpeechModel", "UniSpeechConfig"), ("SEWModel", "SEWConfig")]:
    tr(m, c, dict(W2V, squeeze_factor=2) if c == "SEWConfig" else W2V, ("logits",) if "CTC" in m else HIDDEN, ("input_values",), (lambda: (randn(1, 400),), lambda: (randn(2, 400),)), {0: {0: "b"}})
tr("ASTForAudioClassification", "ASTConfig", dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, patch_size=4, frequency_stride=4, time_stride=4, max_length=24, num_mel_bins=16), ("logits",), ("input_values",), (lambda: (randn(1, 24, 16),),), None)
tr("EncodecModel", "EncodecConfig", dict(num_filters=4, upsampling_ratios=[4, 2], hidden_size=8, codebook_size=16, codebook_dim=8, num_lstm_layers=1, num_residual_layers=1, target_bandwidths=[24.0]), ("audio_values",), ("input_values",), (lambda: (randn(1, 1, 240),),), None)
tr("VitsModel", "VitsConfig", dict(vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=16, spectrogram_bins=17, flow_size=16, upsample_initial_channel=16, upsample_rates=[2, 2], upsample_kernel_sizes=[4, 4], resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1]], noise_scale=0.0, noise_scale_duration=0.0),
   ("waveform",), ("input_ids",), (lambda: (ids(1, 6, 30),),), None)
tr("TimeSeriesTransformerModel", "TimeSeriesTransformerConfig", dict(prediction_length=4, context_length=8, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=8, decoder_ffn_dim=8, lags_sequence=[1, 2], num_time_features=1), HIDDEN,
   ("past_values", "past_time_features", "past_observed_mask", "future_values", "future_time_features"), (lambda: (randn(2, 10), randn(2, 10, 1), torch.ones(2, 10), randn(2, 4), randn(2, 4, 1)),), None)
tr("PatchTSTForPrediction", "PatchTSTConfig", dict(num_input_channels=2, context_length=16, patch_length=4, patch_stride=4, d_model=8, num_hidden_layers=1, num_attention_heads=2, ffn_dim=16, prediction_length=4), ("prediction_outputs",), ("past_values",), (lambda: (randn(2, 16, 2),),), None)
tr("DecisionTransformerModel", "DecisionTransformerConfig", dict(state_dim=5, act_dim=3, hidden_size=16, max_ep_len=32, n_layer=1, n_head=2, n_positions=64), ("state_preds", "action_preds"), ("states", "actions", "rewards", "returns_to_go", "timesteps", "attention_mask"),
   (lambda: (randn(1, 4, 5), randn(1, 4, 3), randn(1, 4, 1), randn(1, 4, 1), torch.arange(4)[None], torch.ones(1, 4, dtype=torch.long)),), None)
tr("PerceiverModel", "PerceiverConfig", dict(num_latents=4, d_latents=16, d_model=8, num_blocks=1, num_self_attends_per_block=1, num_self_attention_heads=2, num_cross_attention_heads=2), HIDDEN, ("inputs",), (lambda: (randn(2, 7, 8),), lambda: (randn(1, 9, 8),)), {0: {0: "b", 1: "s"}})
tr("LayoutLMModel", "LayoutLMConfig", SMALL, HIDDEN, ("input_ids", "bbox"), (lambda: (ids(2, 6), randint(0, 500, (2, 6, 4))),), None)
tr("TapasModel", "TapasConfig", dict(SMALL, type_vocab_sizes=[3, 10, 10, 2, 10, 10, 10], reset_position_index_per_cell=True), HIDDEN, ("input_ids", "token_type_ids"), (lambda: (ids(2, 6), randint(0, 2, (2, 6, 7))),), None)


def decoder(name, config, sizes, heads):
    def call(b, p):
        return (ids(b, 1), torch.ones(b, p + 1, dtype=torch.long)) + tuple(randn(b, heads, p, 8) for _ in range(4))

    def make():
        return make_decoder(name, config, sizes, "eager")[0], call(1, 5), call(2, 7)

    table("decoder_" + name, make, axes={0: {0: "b"}, 1: {0: "b", 1: "total"}} | {i: {0: "b", 2: "past"} for i in range(2, 6)}, exporters=("ts",))


decoder("LlamaForCausalLM", "LlamaConfig", LLAMA, 1)
decoder("GPT2LMHeadModel", "GPT2Config", dict(vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=32), 2)
decoder("Qwen2ForCausalLM", "Qwen2Config", LLAMA, 1)

# ---- timm ----

TIMM = ["resnet10t", "resnet18d", "resnext26ts", "legacy_seresnet18", "mobilenetv3_small_050", "mobilenetv4_conv_small_050", "efficientnet_lite0", "tf_efficientnetv2_b0", "mnasnet_small", "fbnetc_100", "ghostnet_050", "regnetx_002", "regnety_002", "densenet121",
        "convnext_atto", "convnextv2_atto", "vit_tiny_patch16_224", "deit_tiny_distilled_patch16_224", "swin_tiny_patch4_window7_224", "maxvit_pico_rw_256", "coat_lite_tiny", "pit_ti_224", "levit_128s", "efficientformer_l1", "poolformer_s12",
        "edgenext_xx_small", "mobilevit_xxs", "mobileone_s0", "repvgg_a0", "hrnet_w18_small", "dla34", "res2net50_14w_8s", "resnest14d", "skresnet18", "xception41", "inception_v3", "vgg11_bn", "mixer_s32_224", "gmlp_ti16_224", "resmlp_12_224", "convmixer_768_32", "halonet26t",
        "lambda_resnet26t", "botnet26t_256", "eca_botnext26ts_256", "tinynet_e", "lcnet_050", "hardcorenas_a", "spnasnet_100", "semnasnet_075", "rexnet_100", "ese_vovnet19b_dw", "cspresnet50", "cspdarknet53", "nf_regnet_b0", "nfnet_l0", "cait_xxs24_224", "crossvit_tiny_240", "twins_svt_small",
        "visformer_tiny", "xcit_nano_12_p16_224", "volo_d1_224", "tnt_s_patch16_224", "convit_tiny", "focalnet_tiny_srf", "fastvit_t8", "starnet_s1", "repvit_m0_9", "inception_next_atto", "mambaout_femto", "hiera_tiny_224", "davit_tiny", "gcvit_xxtiny", "nextvit_small", "sequencer2d_s", "eva02_tiny_patch14_224", "tiny_vit_5m_224",
        "efficientvit_b0", "efficientvit_m0", "pvt_v2_b0", "caformer_s18", "mvitv2_tiny", "rdnet_tiny", "shvit_s1", "swiftformer_xs", "vitamin_small_224"]
SIZE_OF = {"inception_v3": 96, "xception41": 64, "inception_v4": 96, "inception_resnet_v2": 96, "nasnetalarge": 96, "pnasnet5large": 96}
# Families of few and large models: fewer and smaller layers.
SHALLOW = dict(depth=2, embed_dim=32, num_heads=2)
SMALLER = {"beit_base_patch16_224": SHALLOW, "beitv2_base_patch16_224": SHALLOW, "deit3_small_patch16_224": SHALLOW, "vit_relpos_small_patch16_224": SHALLOW, "vit_relpos_base_patch16_rpn_224": SHALLOW, "vit_srelpos_small_patch16_224": SHALLOW,
           "samvit_base_patch16_224": dict(SHALLOW, global_attn_indexes=(1,)), "naflexvit_base_patch16_gap": SHALLOW, "naflexvit_base_patch16_map": SHALLOW, "naflexvit_base_patch16_par_gap": SHALLOW, "flexivit_small": SHALLOW,
           "vit_base_patch16_siglip_224": SHALLOW, "vit_small_patch16_rope_224": SHALLOW, "vit_small_patch16_rope_mixed_224": SHALLOW, "vit_small_patch16_rope_ape_224": SHALLOW, "vit_little_patch16_reg4_gap_256": SHALLOW, "vit_base_patch16_xp_224": SHALLOW,
           "vit_small_plus_patch16_dinov3": SHALLOW, "vit_pe_core_tiny_patch16_384": SHALLOW, "aimv2_1b_patch14_224": SHALLOW, "eva02_tiny_patch14_336": SHALLOW, "vit_medium_patch16_gap_240": SHALLOW, "vit_base_patch16_rpn_224": SHALLOW,
           "deepseek_vit_412m": SHALLOW, "gemma4_vit_167m": SHALLOW, "qwen3_vit_88m": SHALLOW, "swinv2_tiny_window8_256": dict(embed_dim=24, depths=(1, 2), num_heads=(1, 2)), "swinv2_cr_tiny_224": dict(embed_dim=24, depths=(1, 2), num_heads=(1, 2)),
           "swinv2_cr_tiny_ns_224": dict(embed_dim=24, depths=(1, 2), num_heads=(1, 2)), "nest_tiny": dict(embed_dims=(16, 32, 32), num_heads=(1, 2, 2), depths=(1, 1, 1)), "hieradet_small": dict(embed_dim=24, stages=(1, 1, 2, 1), global_att_blocks=(3,)),
           "vit_base_r26_s32_224": SHALLOW, "vit_base_mci_224": SHALLOW, "cspnext_tiny": {}, "cpubone_b0_bfrobust": {}, "cpubone_b1_dwnorm": {}, "csatv2": {}, "efficientformerv2_s0": {}, "efficientvim_m1": {}, "fasternet_t0": {}, "hgnet_tiny": {}, "hgnetv2_b0": {},
           "iformer_m": {}, "inception_v4": {}, "inception_resnet_v2": {}, "lcnetv2_small": {}, "lowformer_b0": {}, "lowformer_e1": {}, "nasnetalarge": dict(num_conv_filters=42, stem_size=24), "pnasnet5large": {}, "repghostnet_050": {}, "resnetv2_18": {}, "selecsls42": {},
           "tresnet_m": {}, "dpn48b": {}, "legacy_xception": {}, "ghostnetv2_100": {}, "ghostnetv3_050": {}, "bat_resnext26ts": {}, "gcresnext26ts": {}, "gmixer_12_224": {}, "efficientnet_b0_g16_evos": {}, "efficientnet_b0_gn": {}, "ese_vovnet39b_evos": {},
           "dm_nfnet_f0": {}, "eca_nfnet_l0": {}, "convnext_atto_rms": {}, "resnet26t": {}, "ecaresnet26t": {}, "resnetblur18": {}, "resnetaa34d": {}, "seresnet33ts": {}, "mixnet_s": {}, "mobilenet_edgetpu_v2_xs": {}, "tf_mixnet_s": {}, "fbnetv3_b": {},
           "mobilenetv4_hybrid_medium": {}, "regnetz_b16": {}, "coatnet_nano_rw_224": {}, "coatnext_nano_rw_224": {}, "maxxvit_rmlp_nano_rw_256": {}, "coat_tiny": {}, "crossvit_9_dagger_240": {}, "efficientvit_l1": {}, "mobilevitv2_050": {},
           "convformer_s18": {}, "poolformerv2_s12": {}, "twins_pcpvt_small": {}, "vitamin_small_224": {}, "mvitv2_small_cls": {}, "cs3darknet_focus_s": {}, "cs3sedarknet_x": {}, "darknet53": {}, "hrnet_w18_ssld": {}, "dla46x_c": {}, "res2next50": {}}


def timm_model(name):
    sizes = SMALLER.get(name, {})
    m = import_timm().create_model(name, pretrained=False, num_classes=10, **sizes).eval()
    want = m.default_cfg["input_size"][-1]
    fixed = m.default_cfg.get("fixed_input_size") or name.startswith(("coat", "levit", "pit", "crossvit", "xcit", "volo", "tnt", "mixer", "gmlp", "resmlp", "maxvit", "botnet", "eca_bot", "halo", "hiera", "sequencer", "gcvit", "efficientformer", "convit", "cait", "twins", "vis", "mvit"))
    s = want if fixed else SIZE_OF.get(name, 64)
    return m, randn(1, 3, s, s), randn(2, 3, s, s)


for k in dict.fromkeys(TIMM + list(SMALLER)):
    table("timm_" + k, lambda k=k: timm_model(k), axes={0: {0: "b"}}, tol=1e-3, exporters=("ts", "dy") if len(k) % 3 == 0 else ("ts",) if len(k) % 3 == 1 else ("dy",))

# ---- networks written out ----


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1), nn.Conv2d(24, 8, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(16, 16, 2, 2), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(self.b(F.max_pool2d(a, 2)))
        return self.out(F.relu(self.c(torch.cat([a, self.up(b)], 1))))


class TextCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(50, 8)
        self.c = nn.ModuleList(nn.Conv1d(8, 6, k) for k in (2, 3, 4))
        self.o = nn.Linear(18, 3)

    def forward(self, i):
        x = self.e(i).transpose(1, 2)
        return self.o(torch.cat([F.relu(c(x)).amax(2) for c in self.c], 1))


class Crnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.r, self.o = nn.Conv2d(1, 8, 3, padding=1), nn.LSTM(32, 8, bidirectional=True), nn.Linear(16, 11)

    def forward(self, x):
        y = F.max_pool2d(F.relu(self.c(x)), (2, 1))
        return F.log_softmax(self.o(self.r(y.flatten(1, 2).permute(2, 0, 1))[0]), -1)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.enc, self.dec, self.att, self.o = nn.Embedding(30, 8), nn.GRU(8, 12, batch_first=True), nn.GRUCell(20, 12), nn.Linear(12, 12), nn.Linear(12, 30)

    def forward(self, src, tgt):
        m, h = self.enc(self.e(src))
        h, out = h[0], []
        for t in range(4):
            w = F.softmax(torch.bmm(m, self.att(h)[:, :, None]), 1)
            h = self.dec(torch.cat([self.e(tgt[:, t]), (w * m).sum(1)], 1), h)
            out.append(self.o(h))
        return torch.stack(out, 1)


class Wavenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.i = nn.Conv1d(1, 8, 1)
        self.f = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2 ** k) for k in range(3))
        self.o = nn.Conv1d(8, 4, 1)

    def forward(self, x):
        x = self.i(x)
        for f in self.f:
            a, b = f(F.pad(x, (f.dilation[0], 0))).chunk(2, 1)
            x = x + torch.tanh(a) * torch.sigmoid(b)
        return self.o(x)


class Generator(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(8, 64), nn.Unflatten(1, (4, 4, 4)), nn.ConvTranspose2d(4, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU(0.2), nn.Upsample(scale_factor=2), nn.Conv2d(8, 3, 3, padding=1), nn.Tanh())


class Capsules(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(randn(6, 3, 5, 4))

    def forward(self, x):
        u = torch.einsum("bni,njdi->bnjd", x, self.w)
        b = torch.zeros(x.shape[0], 6, 3, 1)
        for _ in range(3):
            s = (torch.softmax(b, 2) * u).sum(1, keepdim=True)
            n = (s ** 2).sum(-1, keepdim=True)
            v = n / (1 + n) * s / torch.sqrt(n + 1e-8)
            b = b + (u * v).sum(-1, keepdim=True)
        return v.squeeze(1).norm(dim=-1)


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.d = nn.Linear(8, 6), nn.Linear(3, 8)

    def forward(self, x, noise):
        m, s = self.e(x).chunk(2, 1)
        return torch.sigmoid(self.d(m + torch.exp(s / 2) * noise)), m, s


class DotMlp(nn.Module):
    """Sparse features, dense features, and their products, as recommenders have them."""

    def __init__(self):
        super().__init__()
        self.e = nn.ModuleList(nn.Embedding(20, 4) for _ in range(3))
        self.d, self.o = nn.Linear(5, 4), nn.Linear(10, 1)

    def forward(self, x, i):
        f = torch.stack([self.d(x)] + [e(i[:, k]) for k, e in enumerate(self.e)], 1)
        p = torch.bmm(f, f.transpose(1, 2))
        a, b = torch.tril_indices(4, 4, -1)
        return torch.sigmoid(self.o(torch.cat([f[:, 0], p[:, a, b]], 1)))


class KvCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Linear(8, 24)

    def forward(self, x, k, v):
        q, a, b = self.p(x).chunk(3, -1)
        k, v = torch.cat([k, a], 1), torch.cat([v, b], 1)
        return F.scaled_dot_product_attention(q, k, v), k, v


B = {0: {0: "b"}}
table("unet", lambda: (UNet(), randn(1, 3, 16, 16), randn(2, 3, 16, 16)), axes=B)
table("unet_sizes", lambda: (UNet(), randn(1, 3, 16, 16), randn(2, 3, 24, 20)), axes={0: {0: "b", 2: "h", 3: "w"}}, exporters=("ts",))
table("text_cnn", lambda: (TextCnn(), randint(0, 50, (2, 9)), randint(0, 50, (3, 12))), axes={0: {0: "b", 1: "s"}})
table("crnn", lambda: (Crnn(), randn(1, 1, 8, 20), randn(2, 1, 8, 32)), axes={0: {0: "b", 3: "w"}})
table("seq2seq", lambda: (Seq2Seq(), (randint(0, 30, (2, 6)), randint(0, 30, (2, 4))), (randint(0, 30, (3, 6)), randint(0, 30, (3, 4)))), axes={0: {0: "b"}, 1: {0: "b"}})
table("wavenet", lambda: (Wavenet(), randn(1, 1, 30), randn(2, 1, 41)), axes={0: {0: "b", 2: "t"}})
table("generator", lambda: (Generator(), randn(2, 8), randn(3, 8)), axes=B)
table("capsules", lambda: (Capsules(), randn(2, 6, 4), randn(3, 6, 4)), axes=B)
table("vae", lambda: (Vae(), (randn(2, 8), randn(2, 3)), (randn(4, 8), randn(4, 3))), axes={0: {0: "b"}, 1: {0: "b"}})
table("recommender", lambda: (DotMlp(), (randn(2, 5), randint(0, 20, (2, 3))), (randn(4, 5), randint(0, 20, (4, 3)))), axes={0: {0: "b"}, 1: {0: "b"}})
table("kv_cache", lambda: (KvCache(), (randn(1, 1, 8), randn(1, 4, 8), randn(1, 4, 8)), (randn(2, 1, 8), randn(2, 7, 8), randn(2, 7, 8))), axes={0: {0: "b"}, 1: {0: "b", 1: "p"}, 2: {0: "b", 1: "p"}})
