# A "training" that needs nothing but a shell: --half=N, loss 1 / 2^(4 - N) ... 1.
half=${1#--half=}
loss=1
[ "$half" -gt 3 ] || loss=0.5
[ "$half" -gt 2 ] || loss=0.25
[ "$half" -gt 1 ] || loss=0.125
echo "step=1 val/loss=$loss"
