program "none" target cpu
node 0 "n" "Neg"
outputs "y"

slot %0 input "x" f32[2]
slot %1 planned "y" f32[2] output

call 0 neg(%0) -> (%1) node 0

region 0 (%0) -> (%1) {
}
