#!/usr/bin/env python3
"""Writes small PNG, WebP, BMP and GIF files of every kind, and Pillow's results for them.

    pip install pillow==13.0.0
    make_pictures.py SEEDS PICTURES.txt CLASSES.txt   # tests/fuzz/image/seeds, tests/pipeline/image/formats/*.txt

A line of PICTURES.txt: the file, then "WIDTH HEIGHT CRC(RGB) CRC(L)" of Pillow's convert("RGB") and convert("L"), or
"refused" if Pillow rejects the file or misreads it. This script assembles the kinds of files that Pillow cannot write.

A line of CLASSES.txt: a file that Pillow opens with one value per pixel, then "WIDTH HEIGHT BITS CRC" of the values of
np.asarray(Image.open(file)). They are a mask's classes: 8 bits (black and white are 0 and 1), or 16.
"""
import io, os, random, struct, sys, warnings, zlib
from PIL import Image

seeds, table, class_table = sys.argv[1:]
rng = random.Random(5)
lines = []
class_lines = []
W, H = 23, 17


def pixels(channels, w=W, h=H, top=255):
    """Slopes with noise, so that every row, column and channel differs."""
    return bytes(min(top, max(0, (x * (c + 3) + y * (5 - c)) * top // 200 + rng.randrange(top // 8 + 1)))
                 for y in range(h) for x in range(w) for c in range(channels))


def image(mode, w=W, h=H):
    return Image.frombytes(mode, (w, h), pixels(len(Image.new(mode, (1, 1)).getbands()), w, h))


def add(name, data, expect=None):
    with open(os.path.join(seeds, name), "wb") as f:
        f.write(data)
    if expect:
        lines.append(f"{name} {expect}")
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = Image.open(io.BytesIO(data))
            opened.load()
            if opened.mode in ("1", "L", "P", "I;16"):
                values = opened.tobytes() if opened.mode != "1" else bytes(v != 0 for v in opened.convert("L").tobytes())
                bits = 16 if opened.mode == "I;16" else 8
                class_lines.append(f"{name} {opened.width} {opened.height} {bits} {zlib.crc32(values):08x}")
            if opened.mode == "I;16":  # the high byte, as for every other kind; Pillow clips at 255 only here
                opened = Image.frombytes("L", opened.size, opened.tobytes()[1::2])
            rgb, gray = opened.convert("RGB"), opened.convert("L")
        lines.append(f"{name} {rgb.width} {rgb.height} {zlib.crc32(rgb.tobytes()):08x} {zlib.crc32(gray.tobytes()):08x}")
    except Exception as e:
        print(name, "refused by Pillow:", e)
        lines.append(f"{name} refused")


def save(name, im, **options):
    out = io.BytesIO()
    im.save(out, format=name.rsplit(".", 1)[1].upper(), **options)
    add(name, out.getvalue())
    return out.getvalue()


# PNG ------------------------------------------------------------------------------------------------------------------
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(w, h, depth, color, interlace, rows, extra=b"", splits=1, tail=b""):
    """rows(y, width of pass row) returns the packed bytes of a row. Rows use every filter in turn."""
    bpp = max(1, depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color] // 8)

    def paeth(a, b, c):
        p = a + b - c
        pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
        return a if pa <= pb and pa <= pc else b if pb <= pc else c

    def coded(lines_):
        out, before = b"", None
        for n, line in enumerate(lines_):
            before = before or bytes(len(line))
            kind = n % 5
            left = lambda s, i: s[i - bpp] if i >= bpp else 0
            guess = [lambda i: 0, lambda i: left(line, i), lambda i: before[i],
                     lambda i: (left(line, i) + before[i]) // 2,
                     lambda i: paeth(left(line, i), before[i], left(before, i))][kind]
            out += bytes([kind]) + bytes((line[i] - guess(i)) & 255 for i in range(len(line)))
            before = line
        return out

    if interlace:
        data = b""
        for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
            pw, ph = (w - x0 + dx - 1) // dx, (h - y0 + dy - 1) // dy
            if pw > 0 and ph > 0:
                data += coded([rows(y, pw) for y in range(ph)])
    else:
        data = coded([rows(y, w) for y in range(h)])
    z = zlib.compress(data)
    cut = max(1, len(z) // splits)
    idat = b"".join(chunk(b"IDAT", z[i:i + cut]) for i in range(0, len(z), cut))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, color, 0, 0, interlace)) + extra +
            idat + tail + chunk(b"IEND", b""))


def rows(depth, color, top=None):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]

    def row(y, width):
        if depth >= 8:
            return bytes(rng.randrange((top or 256)) for _ in range(width * channels * depth // 8))
        bits = "".join(format(rng.randrange(top or 1 << depth), f"0{depth}b") for _ in range(width * channels))
        bits += "0" * (-len(bits) % 8)
        return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))

    return row


def plte(n):
    return chunk(b"PLTE", bytes(rng.randrange(256) for _ in range(3 * n)))


for color, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))):
    for depth in depths:
        for interlace in (0, 1):
            extra = plte(1 << depth) if color == 3 else b""
            add(f"png-{color}-{depth}{'-adam7' if interlace else ''}.png",
                png(W, H, depth, color, interlace, rows(depth, color), extra))
add("png-trns-palette.png", png(W, H, 8, 3, 0, rows(8, 3), plte(256) + chunk(b"tRNS", bytes(range(200)))))
add("png-trns-gray.png", png(W, H, 8, 0, 0, rows(8, 0), chunk(b"tRNS", b"\0\x55")))
add("png-trns-gray2.png", png(W, H, 2, 0, 0, rows(2, 0), chunk(b"tRNS", b"\0\x01")))
add("png-trns-rgb.png", png(W, H, 8, 2, 0, rows(8, 2), chunk(b"tRNS", b"\0\x55\0\x01\0\x02")))
add("png-trns-rgb16.png", png(W, H, 16, 2, 0, rows(16, 2), chunk(b"tRNS", b"\x55\x55\0\x01\0\x02")))
add("png-trns-gray16.png", png(W, H, 16, 0, 0, rows(16, 0), chunk(b"tRNS", b"\x55\x55")))
add("png-plte-in-rgb.png", png(W, H, 8, 2, 0, rows(8, 2), plte(17)))
add("png-short-palette.png", png(W, H, 8, 3, 0, rows(8, 3, top=40), plte(40)))
add("png-index-beyond-palette.png", png(W, H, 8, 3, 0, rows(8, 3), plte(40)))
add("png-many-idat.png", png(W, H, 8, 2, 0, rows(8, 2), splits=40))
add("png-empty-idat-behind.png", png(W, H, 8, 2, 0, rows(8, 2), tail=chunk(b"IDAT", b"")))
add("png-text-and-gamma.png", png(W, H, 8, 2, 0, rows(8, 2), chunk(b"gAMA", struct.pack(">I", 30000)) +
    chunk(b"tEXt", b"k\0v") + chunk(b"sBIT", b"\5\5\5") + chunk(b"bKGD", b"\0\1\0\2\0\3")))
for w, h in ((1, 1), (1, 9), (9, 1), (2, 3), (5, 5), (8, 8)):
    add(f"png-{w}x{h}-adam7.png", png(w, h, 8, 2, 1, rows(8, 2)))
add("png-1x1-1.png", png(1, 1, 1, 0, 0, rows(1, 0)))
whole = save("png-pillow.png", image("RGB"))
save("png-pillow-rgba.png", image("RGBA"))
save("png-pillow-gray.png", image("L"))
save("png-apng.png", image("RGB"), save_all=True, append_images=[image("RGB"), image("RGB")])
save("png-apng-default.png", image("RGB"), save_all=True, default_image=True, append_images=[image("RGB")])
add("png-cut.png", whole[:len(whole) // 2], "refused")
add("png-no-end.png", whole[:-12], "refused")
add("png-crc.png", whole[:60] + bytes([whole[60] ^ 1]) + whole[61:], "refused")

# WebP -----------------------------------------------------------------------------------------------------------------
for mode in ("RGB", "RGBA"):
    for quality in (20, 95):
        save(f"webp-lossy-{mode.lower()}-{quality}.webp", image(mode), quality=quality)
    for method in (0, 6):
        save(f"webp-lossless-{mode.lower()}-{method}.webp", image(mode), lossless=True, quality=100, method=method)
    save(f"webp-exact-{mode.lower()}.webp", image(mode), lossless=True, exact=True)
hole = image("RGBA")
hole.putalpha(Image.frombytes("L", (W, H), bytes(255 * (i % 3) // 2 for i in range(W * H))))
save("webp-hole-lossy.webp", hole, quality=80)
save("webp-hole-lossless.webp", hole, lossless=True)
for colors in (2, 3, 5, 17, 200):
    few = image("RGB", 70, 50).quantize(colors).convert("RGB")
    save(f"webp-colors-{colors}.webp", few, lossless=True, quality=100, method=6)
big = image("RGB", 150, 120)
blocks = Image.new("RGB", (150, 120))
for i in range(40):
    blocks.paste(big.crop((0, 0, 30, 30)).rotate(90 * i), (rng.randrange(130), rng.randrange(100)))
save("webp-blocks.webp", blocks, lossless=True, quality=100, method=6)
save("webp-odd.webp", image("RGB", 33, 1), quality=70)
save("webp-one.webp", image("RGB", 1, 1), lossless=True)
save("webp-exif.webp", image("RGB"), exif=b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0")
frames = [image("RGB"), image("RGB"), image("RGB")]
save("webp-animated.webp", frames[0], save_all=True, append_images=frames[1:], duration=50)
save("webp-animated-lossless.webp", frames[0], save_all=True, append_images=frames[1:], lossless=True)
save("webp-animated-alpha.webp", hole, save_all=True, append_images=[image("RGBA")], quality=60)


def riff(data):
    return b"RIFF" + struct.pack("<I", len(data) + 4) + b"WEBP" + data


def riff_chunk(kind, data):
    return kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) & 1)


def u24(n):
    return struct.pack("<I", n)[:3]


def stream(im, **options):
    out = io.BytesIO()
    im.save(out, format="WEBP", **options)
    return out.getvalue()[12:]


def animation(canvas, at, size, frame, flags=0):
    anmf = u24(at[0] // 2) + u24(at[1] // 2) + u24(size[0] - 1) + u24(size[1] - 1) + u24(100) + bytes([flags]) + frame
    return riff(riff_chunk(b"VP8X", bytes([0x12, 0, 0, 0]) + u24(canvas[0] - 1) + u24(canvas[1] - 1)) +
                riff_chunk(b"ANIM", b"\x10\x20\x30\xff\0\0") + riff_chunk(b"ANMF", anmf))


small = image("RGB", 9, 7)
for kind, options in (("lossy", {"quality": 80}), ("lossless", {"lossless": True})):
    add(f"webp-frame-in-canvas-{kind}.webp", animation((W, H), (4, 6), (9, 7), stream(small, **options)))
    add(f"webp-frame-blended-{kind}.webp", animation((W, H), (0, 2), (9, 7), stream(small, **options), 2))
lossless = save("webp-lossless.webp", image("RGB"), lossless=True)
lossy = save("webp-lossy.webp", image("RGB"), quality=80)
for name, data in (("lossless", lossless), ("lossy", lossy)):
    add(f"webp-cut-{name}.webp", data[:len(data) * 2 // 3], "refused")
add("webp-canvas-lies.webp", riff(riff_chunk(b"VP8X", b"\0\0\0\0" + u24(W) + u24(H - 1)) + lossless[12:]), "refused")
add("webp-no-picture.webp", riff(riff_chunk(b"VP8X", b"\0\0\0\0" + u24(W - 1) + u24(H - 1))), "refused")

# BMP ------------------------------------------------------------------------------------------------------------------
def bmp(w, h, bits, data, header=40, compression=0, masks=(), palette=b"", colors=0, gap=0, offset=None):
    if header == 12:
        info = struct.pack("<IHHHH", 12, w, h, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, w, h, 1, bits, compression, len(data), 2835, 2835, colors, 0)
        body = b"".join(struct.pack("<I", m) for m in masks)
        info += body if header == 40 else (body + bytes(124))[:header - 40]
    at = 14 + len(info) + len(palette) + gap
    return (b"BM" + struct.pack("<IHHI", at + len(data), 0, 0, at if offset is None else offset) + info + palette +
            bytes(gap) + data)


def bmp_rows(w, h, bits, top=None):
    size = (w * bits + 31) // 32 * 4
    if top is None:
        return bytes(rng.randrange(256) for _ in range(size * h))
    out = b""
    for _ in range(h):
        b = "".join(format(rng.randrange(top), f"0{bits}b") for _ in range(w))
        b += "0" * (size * 8 - len(b))
        out += bytes(int(b[i:i + 8], 2) for i in range(0, len(b), 8))
    return out


def bgrx(n, size=4):
    return b"".join(bytes(rng.randrange(256) for _ in range(3)) + b"\0" * (size - 3) for _ in range(n))


for bits in (1, 4, 8):
    for header in (12, 40, 52, 56, 64, 108, 124):
        add(f"bmp-{bits}-h{header}.bmp",
            bmp(W, H, bits, bmp_rows(W, H, bits), header, palette=bgrx(1 << bits, 3 if header == 12 else 4)))
    add(f"bmp-{bits}-top-down.bmp", bmp(W, -H, bits, bmp_rows(W, H, bits), palette=bgrx(1 << bits)))
    add(f"bmp-{bits}-few.bmp", bmp(W, H, bits, bmp_rows(W, H, bits, 2), palette=bgrx(2), colors=2))
    add(f"bmp-{bits}-gap.bmp", bmp(W, H, bits, bmp_rows(W, H, bits), palette=bgrx(1 << bits), gap=10))
    add(f"bmp-{bits}-offset0.bmp", bmp(W, H, bits, bmp_rows(W, H, bits), palette=bgrx(1 << bits), offset=0))
    add(f"bmp-{bits}-offset54.bmp", bmp(W, H, bits, bmp_rows(W, H, bits), palette=bgrx(1 << bits), offset=54))
add("bmp-8-gray.bmp", bmp(W, H, 8, bmp_rows(W, H, 8), palette=b"".join(bytes([i, i, i, 0]) for i in range(256))))
add("bmp-1-black-white.bmp", bmp(W, H, 1, bmp_rows(W, H, 1), palette=b"\0\0\0\0\xff\xff\xff\0"))
add("bmp-1-white-black.bmp", bmp(W, H, 1, bmp_rows(W, H, 1), palette=b"\xff\xff\xff\0\0\0\0\0"))
add("bmp-8-index-beyond-palette.bmp", bmp(W, H, 8, bmp_rows(W, H, 8), palette=bgrx(5), colors=5), "refused")
add("bmp-8-300-colors.bmp", bmp(W, H, 8, bmp_rows(W, H, 8), palette=bgrx(300), colors=300))
for bits in (16, 24, 32):
    for header in (40, 108) if bits != 24 else (12, 40, 64, 124):
        add(f"bmp-{bits}-h{header}.bmp", bmp(W, H, bits, bmp_rows(W, H, bits), header))
    add(f"bmp-{bits}-top-down.bmp", bmp(W, -H, bits, bmp_rows(W, H, bits)))
known = {16: [(0xF800, 0x7E0, 0x1F, 0), (0x7C00, 0x3E0, 0x1F, 0), (0xF00, 0xF0, 0xF, 0)],
         24: [(0xFF0000, 0xFF00, 0xFF, 0)],
         32: [(0xFF0000, 0xFF00, 0xFF, 0), (0xFF000000, 0xFF0000, 0xFF00, 0), (0xFF000000, 0xFF00, 0xFF, 0),
              (0xFF000000, 0xFF0000, 0xFF00, 0xFF), (0xFF, 0xFF00, 0xFF0000, 0xFF000000),
              (0xFF0000, 0xFF00, 0xFF, 0xFF000000), (0xFF000000, 0xFF00, 0xFF, 0xFF0000), (0, 0, 0, 0),
              (0x3FF00000, 0xFFC00, 0x3FF, 0)]}
for bits, all_masks in known.items():
    for i, masks in enumerate(all_masks):
        for header in (40, 52, 56, 108, 124):
            if header <= 52 and masks[3]:
                continue
            add(f"bmp-masks-{bits}-{i}-h{header}.bmp",
                bmp(W, H, bits, bmp_rows(W, H, bits), header, 3, masks[:3] if header == 40 else masks))
white = bmp(4, 1, 16, b"\xff\x7f\0\0\xff\x7f\x1f\0")
add("bmp-16-white.bmp", white)


def rle(bits, data, h=6, w=9, colors=None, **more):
    n = colors or 1 << bits
    return bmp(w, h, bits, data, compression=1 if bits == 8 else 2, palette=bgrx(n), colors=n, **more)


line = lambda v: bytes([9, v])
end, stop = b"\0\0", b"\0\1"
for bits in (4, 8):
    v = [rng.randrange(1 << bits) * (17 if bits == 4 else 1) % 256 for _ in range(12)]
    full = b"".join(line(x) + end for x in v[:6])
    add(f"bmp-rle{bits}.bmp", rle(bits, full + stop))
    add(f"bmp-rle{bits}-top-down.bmp", rle(bits, full + stop, h=-6))
    add(f"bmp-rle{bits}-no-stop.bmp", rle(bits, full[:-2]))
    count = 5 if bits == 8 else 3
    literal = b"\0\5" + bytes(v[:count]) + b"\0"
    add(f"bmp-rle{bits}-literal.bmp", rle(bits, (literal + bytes([4, v[5]]) + end) * 6 + stop))
    even = b"\0\4" + bytes(v[:4 if bits == 8 else 2])
    add(f"bmp-rle{bits}-literal-even.bmp", rle(bits, (even + bytes([5, v[5]]) + end) * 6 + stop))
    add(f"bmp-rle{bits}-short-lines.bmp", rle(bits, (bytes([4, v[1]]) + end) * 6 + stop))
    add(f"bmp-rle{bits}-long-run.bmp", rle(bits, (bytes([12, v[1]]) + end) * 6 + stop))
    add(f"bmp-rle{bits}-delta.bmp", rle(bits, bytes([3, v[1]]) + b"\0\2\2\0" + bytes([4, v[2]]) + end +
        bytes([2, v[3]]) + b"\0\2\3\2" + bytes([4, v[4]]) + end + bytes([9, v[4]]) + end + bytes([9, v[5]]) + end + stop))
    add(f"bmp-rle{bits}-delta-down.bmp", rle(bits, bytes([3, v[1]]) + b"\0\2\0\5" + bytes([6, v[2]]) + stop))
    add(f"bmp-rle{bits}-stops-early.bmp", rle(bits, full[:12] + stop), "refused")
    add(f"bmp-rle{bits}-cut.bmp", rle(bits, full[:13]), "refused")
    add(f"bmp-rle{bits}-empty-line.bmp", rle(bits, full[:8] + end + full[8:] + stop), "refused")
    add(f"bmp-rle{bits}-move-beyond.bmp", rle(bits, full[:8] + b"\0\2\2\x09" + full[8:] + stop), "refused")
    add(f"bmp-rle{bits}-literal-beyond.bmp",
        rle(bits, (bytes([6, 1]) + b"\0\5" + bytes(count) + b"\0" + end) * 6 + stop), "refused")
cut = bmp(W, H, 24, bmp_rows(W, H, 24))
add("bmp-cut.bmp", cut[:-80], "refused")
add("bmp-jpeg-inside.bmp", bmp(W, H, 24, bytes(100), compression=4), "refused")
add("bmp-2-bits.bmp", bmp(W, H, 2, bmp_rows(W, H, 2), palette=bgrx(4)), "refused")
save("bmp-pillow-p.bmp", image("RGB").quantize(50))
save("bmp-pillow-1.bmp", image("L").convert("1"))

# GIF ------------------------------------------------------------------------------------------------------------------
def lzw(colors, bits):
    """Uses all of LZW: codes grow, the table fills, and the clear code comes late."""
    clear, codes, out = 1 << bits, {}, []
    size, nxt = bits + 1, clear + 2
    emit = lambda code: out.append((code, size))
    emit(clear)
    table = {(i,): i for i in range(clear)}
    word = ()
    for c in colors:
        if word + (c,) in table:
            word += (c,)
            continue
        emit(table[word])
        if nxt < 4096:
            table[word + (c,)] = nxt
            nxt += 1
            if nxt > 1 << size and size < 12:
                size += 1
        word = (c,)
    emit(table[word])
    if nxt < 4096 and nxt + 1 > 1 << size and size < 12:
        size += 1
    emit(clear + 1)
    n, held, data = 0, 0, bytearray()
    for code, s in out:
        n |= code << held
        held += s
        while held >= 8:
            data.append(n & 255)
            n >>= 8
            held -= 8
    data.append(n & 255)
    return bytes([bits]) + b"".join(bytes([len(data[i:i + 255])]) + bytes(data[i:i + 255])
                                    for i in range(0, len(data), 255)) + b"\0"


def gif(screen, at, size, colors, bits, palette=None, local=None, interlace=False, transparent=None, order=None):
    bits_of = lambda p: (len(p) // 3).bit_length() - 2
    out = b"GIF89a" + struct.pack("<HH", *screen) + bytes([0x80 | bits_of(palette) if palette else 0, 3, 0]) + (palette or b"")
    if transparent is not None:
        out += b"!\xf9\x04\x01\0\0" + bytes([transparent]) + b"\0"
    out += b"!\xfe\x05hello\0," + struct.pack("<HHHH", *at, *size)
    out += bytes([(0x80 | bits_of(local) if local else 0) | (0x40 if interlace else 0)]) + (local or b"")
    return out + lzw(colors, bits) + b";"


def colors_of(n, count):
    return [min(n - 1, (i // 3 + rng.randrange(2)) % n) for i in range(count)]


some = lambda n: bytes(rng.randrange(256) for _ in range(3 * n))
for bits in (1, 2, 4, 8):
    n = 1 << bits
    for interlace in (False, True):
        add(f"gif-{n}{'-interlaced' if interlace else ''}.gif",
            gif((W, H), (0, 0), (W, H), colors_of(n, W * H), max(2, bits), some(n), interlace=interlace))
    add(f"gif-{n}-local.gif", gif((W, H), (0, 0), (W, H), colors_of(n, W * H), max(2, bits), some(4), some(n)))
add("gif-no-palette.gif", gif((W, H), (0, 0), (W, H), colors_of(200, W * H), 8))
add("gif-code-size-1.gif", gif((W, H), (0, 0), (W, H), colors_of(2, W * H), 1, some(2)))
for h in (1, 2, 3, 4, 5, 9):
    add(f"gif-interlaced-{h}.gif", gif((7, h), (0, 0), (7, h), colors_of(16, 7 * h), 4, some(16), interlace=True))
for transparent in (None, 5):
    suffix = "" if transparent is None else "-transparent"
    add(f"gif-frame-in-screen{suffix}.gif",
        gif((W, H), (3, 4), (9, 7), colors_of(16, 63), 4, some(16), transparent=transparent))
    add(f"gif-frame-beyond-screen{suffix}.gif",
        gif((8, 6), (3, 4), (9, 7), colors_of(16, 63), 4, some(16), transparent=transparent))
    add(f"gif-frame-local{suffix}.gif",
        gif((W, H), (3, 4), (9, 7), colors_of(16, 63), 4, some(4), some(16), transparent=transparent))
add("gif-full-table.gif", gif((150, 150), (0, 0), (150, 150), [rng.randrange(256) for _ in range(22500)], 8, some(256)))
add("gif-repeats.gif", gif((60, 60), (0, 0), (60, 60), [i // 900 for i in range(3600)], 2, some(4)))
add("gif-color-beyond-palette.gif", gif((W, H), (0, 0), (W, H), colors_of(16, W * H), 4, some(4)), "refused")
add("gif-too-few-pixels.gif", gif((W, H), (0, 0), (W, H), colors_of(16, W * H - 5), 4, some(16)), "refused")
good = gif((W, H), (0, 0), (W, H), colors_of(16, W * H), 4, some(16))
add("gif-cut.gif", good[:len(good) * 2 // 3], "refused")
add("gif-no-frame.gif", b"GIF89a" + struct.pack("<HH", W, H) + b"\0\0\0;", "refused")
save("gif-pillow.gif", image("RGB"))
save("gif-pillow-animated.gif", image("L"), save_all=True, append_images=[image("L")])

with open(table, "w") as f:
    f.write("# Written by make_pictures.py with Pillow: file, then width, height, CRC-32 of RGB, of L; or refused.\n")
    f.write("\n".join(sorted(lines)) + "\n")
with open(class_table, "w") as f:
    f.write("# Written by make_pictures.py with Pillow: file, then width, height, bits, CRC-32 of the values.\n")
    f.write("\n".join(sorted(class_lines)) + "\n")
print(len(lines), "files")
