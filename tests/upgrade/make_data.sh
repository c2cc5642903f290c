#!/bin/sh
# Panel files and data folders of earlier versions; see README.md.
#   make_data.sh PYTHON FOLDER
# FOLDER has a checkout for each of the commits in README.md; the files go into data/ beside this.
set -e
python=$1
folder=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
data=$here/data
run() { (cd "$folder/$1" && shift && PYTHONPATH=. "$python" "$@"); }
panel() {
    version=$1 && shift
    case $version in v6) graded=graded_ ;; *) graded= ;; esac
    run "$version" -m judgepanel recommend "$data/${graded}votes.csv" --splits 12 --jobs 1 "$@" --out "$data/$version.json"
    run "$version" -m judgepanel score "$data/$version.json" "$data/${graded}new.csv" --out "$data/$version.csv"
}

run v1 -m judgepanel simulate --n-items 120 --n-judges 6 --seed 3 --parse-rate 0.95 --out "$data/votes.csv"
run v1 -m judgepanel simulate --n-items 40 --n-judges 6 --seed 4 --parse-rate 0.9 --out "$data/new.csv"
rm -f "$data/votes_judges.csv" "$data/new_judges.csv"
panel v1
panel v2 --judge judge01 --judge judge04
panel v3
panel v4
panel v5
run v6 -m judgepanel simulate --n-items 120 --n-judges 6 --seed 3 --parse-rate 0.95 --levels 3 --out "$data/graded_votes.csv"
run v6 -m judgepanel simulate --n-items 40 --n-judges 6 --seed 4 --parse-rate 0.9 --levels 3 --out "$data/graded_new.csv"
rm -f "$data/graded_judges.csv" "$data/graded_new_judges.csv"
panel v6
run v1 "$here/make_folder.py" files engine-2 "$data"
run engine-3 "$here/make_folder.py" sql engine-3 "$data"
run v4 "$here/make_folder.py" sql engine-8 "$data"
