#include "backend/lower.h"
enum lowered lower_elementwise(struct lowering *l, struct node *n)
{
    return DECLINED;
}
