#!/bin/sh
# What a release leaves behind; see README.md.
#   make_data.sh PYTHON VERSION
# run in a checkout of the release; the files go into data/ beside this.
set -e
python=$1
version=$2
here=$(cd "$(dirname "$0")" && pwd)
data=$here/data
for kind in "" graded_; do
    test -e "$data/${kind}votes.csv" || {
        levels=$(test -z "$kind" || echo "--levels 3")
        # shellcheck disable=SC2086
        "$python" -m judgepanel simulate --n-items 120 --n-judges 6 --seed 3 --parse-rate 0.95 $levels --out "$data/${kind}votes.csv"
        # shellcheck disable=SC2086
        "$python" -m judgepanel simulate --n-items 40 --n-judges 6 --seed 4 --parse-rate 0.9 $levels --out "$data/${kind}new.csv"
        rm -f "$data/"*judges.csv
    }
    panel="$data/$version.${kind}panel.json"
    "$python" -m judgepanel recommend "$data/${kind}votes.csv" --task pairwise --splits 12 --jobs 1 --out "$panel"
    "$python" -m judgepanel score "$panel" "$data/${kind}new.csv" --out "$data/$version.${kind}scored.csv"
done
"$python" "$here/make_folder.py" "$version" "$data"
