
JKÀ‹@KÀKÀLCL√LCLC0K0«P»0À