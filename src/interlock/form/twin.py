"""A twin: the ASCII name that a name with look-alike, accented or capital letters was probably meant to be.

Names of the platform are ASCII, so that no two of them can look the same. A refused name is answered with
its twin, so that a person who pasted `tгiage` sees what differs.
"""

import unicodedata

__all__ = ["twin_of"]

# Letters of other scripts that are drawn like a Latin one and that no Unicode decomposition relates to it.
LOOK_ALIKES = str.maketrans(
    {
        letter: latin
        for latin, letters in {
            "a": "ɑαаΑАᎪꓮ",
            "b": "ЬΒВᏴᗷꓐ",
            "c": "ᴄϲⲥсꮯϹⲤСᏟꓚ",
            "d": "ԁᏧᎠꓓ",
            "e": "℮еҽΕЕⴹᎬꓰ",
            "f": "ſքꞘϜꓝ",
            "g": "ɡցԌᏀꓖ",
            "h": "һհΗⲎНᎻꓧ",
            "i": "ıɪɩιіӏꙇᎥ",
            "j": "ϳјͿЈᎫꓙ",
            "k": "κкΚⲔКᏦꓗ",
            "l": "ǀΙІӀⵏⳐᏞꓡ",
            "m": "мΜϺⲘМᎷꓟ",
            "n": "ոռΝⲚꓠ",
            "o": "ᴏοσⲟоօΟⲞОՕⵔꓳ〇",
            "p": "ρϱⲣрΡⲢРᏢꓑ",
            "q": "ԛգզⵕ",
            "r": "ᴦⲅгꮁƦᎡꓣ",
            "s": "ꜱѕꮪЅՏᏚꓢ",
            "t": "тΤⲦТᎢꓔ",
            "u": "ᴜʋυսՍꓴ",
            "v": "ᴠνѵꮩѴᏙꓦ",
            "w": "ɯᴡѡԝաꮃԜᎳꓪ",
            "x": "хχᕁΧⲬХⵝꓫ×",
            "y": "ɣʏγуүყΥⲨУҮꓬ",
            "z": "ᴢꮓΖᏃꓜ",
            "2": "Ƨᒿ",
            "3": "ЗӠƷȜⳌ",
            "6": "бᏮ",
            "8": "ȣȢ",
            "-": "‐‑‒–—﹘⁃˗−➖Ⲻ ",
            ".": "۰ꓸ",
        }.items()
        for letter in letters
    }
)


def twin_of(name: str) -> str:
    """Give `name` in lower-case ASCII as far as it can be; characters without a twin stay as they are."""
    plain = unicodedata.normalize("NFKD", name[:400].translate(LOOK_ALIKES)).translate(LOOK_ALIKES)
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).lower()
