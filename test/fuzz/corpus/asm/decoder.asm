program "g" target cpu
info "{}"
symbol "b"
symbol "p"
dim sym 0 # $0
dim sym 1 # $1
dim add $1 1 # $2
dim mul $0 -1 # $3
dim mul $1 -1 # $4
dim add $4 -1 # $5
dim pitch $1 0 # $6
dim pitch $2 0 # $7
dim pitch $1 1 # $8
dim pitch $2 1 # $9
dim mul $0 24 # $10
dim mul $6 8 # $11
dim mul $6 24 # $12
dim mul $0 $6 # $13
dim mul $13 24 # $14
dim mul $8 8 # $15
dim mul $8 24 # $16
dim mul $0 $8 # $17
dim mul $17 24 # $18
dim mul $7 8 # $19
dim mul $7 24 # $20
dim mul $0 $7 # $21
dim mul $21 24 # $22
dim mul $1 8 # $23
dim mul $9 8 # $24
dim mul $9 24 # $25
dim mul $0 $9 # $26
dim mul $26 24 # $27
dim mul $0 $2 # $28
dim mul $28 3 # $29
dim mul $28 96 # $30
dim mul $0 3 # $31
dim mul $0 96 # $32
dim mul $28 24 # $33
dim mul $28 192 # $34
dim add $32 $34 # $35
dim mul $28 384 # $36
dim add $32 $36 # $37
dim mul $0 192 # $38
dim add $38 $36 # $39
node 0 "" ""
outputs "y", "nk", "nv"

slot %0 input "q" f32[b,3,1,8]
slot %1 input "k" f32[b,3,1,8]
slot %2 input "v" f32[b,3,1,8]
slot %3 input "pk" f32[b,3,p,8]
slot %4 input "pv" f32[b,3,p,8]
slot %5 planned f32[b,3,1,8] output
slot %6 planned f32[b,3,p+1,8] output
slot %7 planned f32[b,3,p+1,8] output
state %3 %6 axis 2 (pitch(p,0)) (pitch(p+1,0))
state %4 %7 axis 2 (pitch(p,1)) (pitch(p+1,1))

kernel 0 "" grid((b), 3, 1) vars 3 semaphores 3 flops (b*(p+1)*96) bytes (b*192+b*(p+1)*384) {
  tile psum0 f32 1 x (p+1)
  tile psum1 f32 1 x 8
  tile sbuf2 f32 1 x 2
  dve.memset dst=psum1 f32[0](min(1,1-g2*1):8, 8:1), value=0 signal s2 node 0
  dve.memset dst=sbuf2 f32[0](min(1,1-g2*1):2, 2:1), value=1 signal s2 node 0
  sp.dma_copy dst=%6 f32[g0*(pitch(p+1,0)*24)+g1*(pitch(p+1,0)*8)]((p*8):1), src=%3 f32[g0*(pitch(p,0)*24)+g1*(pitch(p,0)*8)]((p*8):1) node 0
  sp.dma_copy dst=%6 f32[g0*(pitch(p+1,0)*24)+g1*(pitch(p+1,0)*8)+(p*8)](8:1), src=%1 f32[g0*24+g1*8](8:1) node 0
  pe.nc_matmul dst=psum0 f32[0](min(1,1-g2*1):(p+1), (p):1), stationary=%3 f32[g0*(pitch(p,0)*24)+g1*(pitch(p,0)*8)](8:1, (p):8), moving=%0 f32[g0*24+g1*8+g2*8](min(1,1-g2*1):8, 8:1) node 0
  pe.nc_matmul dst=psum0 f32[(p)](min(1,1-g2*1):(p+1), 1:1), stationary=%1 f32[g0*24+g1*8](8:1, 1:8), moving=%0 f32[g0*24+g1*8+g2*8](min(1,1-g2*1):8, 8:1) signal s0 node 0
  act.softmax_block dst=psum0 f32[0](min(1,1-g2*1):(p+1), (p+1):1), src=psum0 f32[0](min(1,1-g2*1):(p+1), (p+1):1), state=sbuf2 f32[0](min(1,1-g2*1):2, 2:1), sum=psum1 f32[0](min(1,1-g2*1):8, 8:1), factor=0.5 wait s0>=1, s2>=2 signal s1 node 0
  sp.dma_copy dst=%7 f32[g0*(pitch(p+1,1)*24)+g1*(pitch(p+1,1)*8)]((p*8):1), src=%4 f32[g0*(pitch(p,1)*24)+g1*(pitch(p,1)*8)]((p*8):1) node 0
  sp.dma_copy dst=%7 f32[g0*(pitch(p+1,1)*24)+g1*(pitch(p+1,1)*8)+(p*8)](8:1), src=%2 f32[g0*24+g1*8](8:1) node 0
  pe.nc_matmul dst=psum1 f32[0](min(1,1-g2*1):8, 8:1), stationary=%4 f32[g0*(pitch(p,1)*24)+g1*(pitch(p,1)*8)]((p):8, 8:1), moving=psum0 f32[0](min(1,1-g2*1):(p+1), (p):1) wait s1>=1 node 0
  pe.nc_matmul dst=psum1 f32[0](min(1,1-g2*1):8, 8:1), stationary=%2 f32[g0*24+g1*8](1:8, 8:1), moving=psum0 f32[(p)](min(1,1-g2*1):(p+1), 1:1), accumulate=1 signal s0 node 0
  dve.tensor_tensor dst=%5 f32[g0*24+g1*8+g2*8](min(1,1-g2*1):8, 8:1), a=psum1 f32[0](min(1,1-g2*1):8, 8:1), b=sbuf2 f32[1](min(1,1-g2*1):2, 8:0), op=div wait s0>=2 node 0
}

region 0 (%0, %1, %2, %3, %4) -> (%5, %6, %7) {
  launch 0
}
