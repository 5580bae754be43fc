#include "backend/lower.h"
enum lowered lower_conv(struct lowering *l, struct node *n)
{
    (void)l, (void)n;
    return DECLINED;
}
