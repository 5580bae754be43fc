# What hlo.sh and stablehlo.sh share. Before: $tool, the program that reads and prints modules, and status=0.

# run NAME COMMAND...: prints what went wrong and a count
run() {
    name=$1
    shift
    if out=$("$@" 2>&1); then
        echo "ok   $name: $(echo "$out" | wc -l) lines"
    else
        echo "FAIL $name (status $?)"
        echo "$out" | grep -v '^ok ' | head -40
        status=1
    fi
}

# refused FILE SUBSTRING: the message must have it
refused() {
    if ! message=$("$tool" refuse "$1" 2>&1) || ! echo "$message" | grep -qF -- "$2"; then
        echo "FAIL $1: expected a message with '$2', got: $message"
        status=1
    fi
}
