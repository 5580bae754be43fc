program "g" target cpu
symbol "n"
dim sym 0 # $0
dim mul $0 2 # $1
dim ceildiv $1 4096 # $2
dim mul $0 16 # $3
node 0 "t" "Add"
node 1 "e" "Neg"
node 2 "y" "If"
outputs "y"

slot %0 input "b" bool[]
slot %1 input "x" f32[n,2]
slot %2 dynamic "y" f32[n,2] output
slot %3 planned "t" f32[n,2]
slot %4 planned "e" f32[n,2]

kernel 0 "t" grid((ceildiv(n*2,4096))) vars 1 semaphores 0 flops (n*2) bytes (n*16) {
  dve.tensor_tensor dst=%3 f32[g0*4096](min(4096,(n*2)-g0*4096):1), a=%1 f32[g0*4096](min(4096,(n*2)-g0*4096):1), b=%1 f32[g0*4096](min(4096,(n*2)-g0*4096):1), op=add node 0
}

kernel 1 "e" grid((ceildiv(n*2,4096))) vars 1 semaphores 0 flops (n*2) bytes (n*16) {
  act.activation dst=%4 f32[g0*4096](min(4096,(n*2)-g0*4096):1), src=%1 f32[g0*4096](min(4096,(n*2)-g0*4096):1), factor=1, a=0, b=0, f=neg node 1
}

call 0 if(%0) -> (%2) regions 1, 2 node 2

region 0 (%0, %1) -> (%2) {
  call 0 # if
}

region 1 () -> (%3) {
  launch 0 # t
}

region 2 () -> (%4) {
  launch 1 # e
}
