/*
 * How weights and biases of `recurrence` lie (isa.def), for lowering and for the runtime.
 */
#ifndef NEFF_RECURRENCE_H
#define NEFF_RECURRENCE_H

enum {
    RECURRENT_UNITS = 16,            /* hidden units of each gate in a part of the weights */
    RNN_UNITS = 4 * RECURRENT_UNITS, /* the same of an RNN, whose one gate fills a part */
    RECURRENT_BIASES = 4,            /* rows of the bias, */
    RECURRENT_PEEPHOLES = 3,         /* and of an LSTM's peepholes behind it: in, out, forget */
};

#endif
