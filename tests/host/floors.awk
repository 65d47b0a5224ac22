# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Reads `nm -A` of the library's objects. Prints how many floors lib/ has, which is the most of its files that call each
# other in a row, and that row; and every call from a room to one above it. Fails at MOST floors and at such a call.
BEGIN {
    # each room calls those before it; backends stand on one floor with each other, the system is the ground
    count = split("platform base machine host backend devices core user_kernels ops tensors model", order, " ")
    for (i = 1; i <= count; i++) rank[order[i]] = i
    rank["tune"] = rank["model"]
}

# The folder in lib/; "core" for lib/ itself.
function room_of(file) {
    if (file ~ /^(cpu|opencl|cuda)\//) return "backend"
    if (file ~ /^embedded_kernels/) return "base"
    return file ~ /\// ? substr(file, 1, index(file, "/") - 1) : "core"
}

{
    file = $1
    sub(/:.*/, "", file)
    sub(/.*\/tandem_objects\.dir\//, "", file)
    gsub(/__\//, "", file)
    sub(/^\.\//, "", file)
    sub(/\.o$/, "", file)
    files[file] = 1
    if ($2 == "U") uses[file " " $3] = 1
    else if ($2 ~ /^[A-Z]$/) from[$3] = file
}

function floors_of(file, targets, n, i, best, other) {
    if (file in floors) return floors[file]
    n = split(calls[file], targets, " ")
    for (i = 1; i <= n; i++)
        if (floors_of(targets[i]) > best) {
            best = floors_of(targets[i])
            below[file] = targets[i]
        }
    return floors[file] = best + (room_of(file) !~ /^(backend|platform)$/)
}

END {
    for (key in uses) {
        split(key, part, " ")
        if (!(part[2] in from) || from[part[2]] == part[1]) continue
        calls[part[1]] = calls[part[1]] " " from[part[2]]
        if (rank[room_of(from[part[2]])] <= rank[room_of(part[1])]) continue
        print "a call up: " part[1] " of " part[2] " in " from[part[2]]
        bad = 1
    }
    for (file in files) {
        if (!(room_of(file) in rank)) {
            print "a room that is not in the order: " file
            bad = 1
        }
        if (floors_of(file) > floors_of(top) || !top) top = file
    }
    row = top
    for (file = below[top]; file; file = below[file]) row = row " > " file
    print floors[top] " floors: " row
    exit bad || floors[top] >= MOST || floors[top] < 5
}
