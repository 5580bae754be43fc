program "g" target cpu
symbol "n"
symbol "nonzero.1" runtime
symbol "unique.2" runtime
symbol "compress.3" runtime
symbol "nonzero.4" runtime
symbol "unique.5" runtime
symbol "compress.6" runtime
symbol "nonzero.7" runtime
symbol "unique.8" runtime
symbol "compress.9" runtime
symbol "nonzero.10" runtime
symbol "unique.11" runtime
symbol "compress.12" runtime
symbol "nonzero.13" runtime
symbol "unique.14" runtime
symbol "compress.15" runtime
symbol "nonzero.16" runtime
symbol "unique.17" runtime
symbol "compress.18" runtime
symbol "nonzero.19" runtime
symbol "unique.20" runtime
symbol "compress.21" runtime
symbol "nonzero.22" runtime
symbol "unique.23" runtime
symbol "compress.24" runtime
dim sym 0 # $0
dim sym 1 # $1
dim sym 2 # $2
dim mul $0 4 # $3
dim sym 3 # $4
dim sym 4 # $5
dim sym 5 # $6
dim sym 6 # $7
dim sym 7 # $8
dim sym 8 # $9
dim sym 9 # $10
dim sym 10 # $11
dim sym 11 # $12
dim sym 12 # $13
dim sym 13 # $14
dim sym 14 # $15
dim sym 15 # $16
dim sym 16 # $17
dim sym 17 # $18
dim sym 18 # $19
dim sym 19 # $20
dim sym 20 # $21
dim sym 21 # $22
dim sym 22 # $23
dim sym 23 # $24
dim sym 24 # $25
node 0 "z" "NonZero"
node 1 "u" "Unique"
node 2 "c" "Compress"
node 3 "tv" "TopK"
node 4 "cs" "CumSum"
outputs "z", "u", "c", "tv", "cs"

slot %0 input "x" f32[n,4]
slot %1 input "b" bool[n]
slot %2 dynamic "z" i64[2,nonzero.1] output
slot %3 dynamic "u" f32[unique.2] output
slot %4 dynamic "c" f32[compress.3,4] output
slot %5 const "k" i64[1] = {2}
slot %6 planned "tv" f32[n,2] output
slot %7 planned "ti" i64[n,2]
slot %8 const "ax" i64[] = {0}
slot %9 planned "cs" f32[n,4] output

call 0 nonzero(%0) -> (%2) node 0
call 1 unique(%0) -> (%3) {"sorted"=int 1} node 1
call 2 compress(%0, %1) -> (%4) {"axis"=int 0} node 2
call 3 topk(%0, %5) -> (%6, %7) node 3
call 4 cumsum(%0, %8) -> (%9) node 4

region 0 (%0, %1) -> (%2, %3, %4, %6, %9) {
  call 0 # nonzero
  call 1 # unique
  call 2 # compress
  call 3 # topk
  call 4 # cumsum
}
