// Unpacks what @sparticuz/chromium carries into TMPDIR: Chromium, its libraries and its fonts and its software for graphics.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { inflate } from "@sparticuz/chromium";

const carried = join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "..", "bin");
for (const name of ["al2023.tar.br", "swiftshader.tar.br", "fonts.tar.br", "chromium.br"]) await inflate(join(carried, name));
