#!/usr/bin/env python3
"""pack_cases FOLDER...: puts the files of each test_data_set_N of these test cases into test_data_set_N.zip, which xcc test reads as
it reads the folder. The bytes depend on the files alone. For cases that are kept in the tree: three files each."""
import os
import shutil
import sys
import zipfile


def pack(folder):
    with zipfile.ZipFile(folder + ".zip", "w") as z:
        for name in sorted(os.listdir(folder)):
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            with open(os.path.join(folder, name), "rb") as f:
                z.writestr(member, f.read(), compresslevel=9)
    shutil.rmtree(folder)


def main():
    for case in sys.argv[1:]:
        for name in sorted(os.listdir(case)):
            path = os.path.join(case, name)
            if name.startswith("test_data_set_") and os.path.isdir(path):
                pack(path)


main()
