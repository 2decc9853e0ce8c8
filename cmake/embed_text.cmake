# cmake -DTEXT=in.cl -DSTEM=name -DOUT=out.c -P embed_text.cmake: bytes as numbers, since a string literal's length is bounded.
file(READ ${TEXT} hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT}.tmp "extern const char gantry__text_${STEM}[];\nconst char gantry__text_${STEM}[] = {\n${bytes}\n0};\n")
file(RENAME ${OUT}.tmp ${OUT})
