/*
 * Results that take the memory of an operand that dies with them.
 *
 * A tile program may write its result over an operand when each of its instances reads exactly the
 * elements that it writes, before it writes them, and no two instances share any. That is proved
 * for concrete shapes, from the access patterns alone; engines of strict targets run out of order
 * and are left out.
 */
#ifndef NEFF_IN_PLACE_H
#define NEFF_IN_PLACE_H

#include "neff/isa/program.h"

/*
 * Per slot the slot whose memory it takes, itself when none: always one that takes no other's.
 * values: of all dim expressions; life: as program_lifetimes gives it. Both slots are planned and
 * no outputs; the first one's life ends where the other's begins. Or the slot is a result of a
 * loop's body and takes the memory of its parameter, which may be an output's.
 */
int32_t *find_in_place(const struct program *p, const int64_t *values, const struct lifetime *life,
                       struct arena *a);

#endif
