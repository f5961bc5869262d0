// The protocol package: every kind, table number and payload that two blocks share, declared once.
//
//           text_t           item_t         record_t         record_t            word_t
//   frames  ----->  classify ----->  split  ------->  parts  ------->  dispatch  ----->  gather
//
// For example, the text " the" (20 74 68 65) alone in lane 0. Its vocabulary, and that of every
// example in this folder: the 256 bytes, "th" 256, "he" 257, "the" 258, " the" 259.
//
//   frame     F7000000_00010004, 00000000_65687420         header: 4 bytes, the text ends
//   text_t    {20 keep} {74 keep} {68 keep} {65 keep last}
//   item_t    {BYTE 20 first} {BYTE 74 first} {BYTE 68 first} {BYTE 65 first} {END}
//   record_t  {last, MERGE, 4}                              one piece, one part, of four bytes
//   word_t    {last, ID, 259}                               0800_0103 on the word stream
//
// The host's side of the same numbers: wire/words.py and tables/image.py in python/zeton/accel. A
// package has no logic of its own. Test: every block's test in tests/rtl packs and reads these
// payloads by name.

`default_nettype none

package zeton_pkg;

    // ---- Text: one byte, the end of a text, or a mark, which stands between texts.
    //
    //   | 10 .. 3 |  2   |  1   |  0   |
    //   |  data   | keep | last | mark |

    typedef struct packed {
        logic [7:0] data;
        logic       keep;   // `data` is a byte of the text.
        logic       last;   // The text ends, after the byte if there is one.
        logic       mark;   // A batch has ended; without a byte.
    } text_t;

    // ---- Items: bytes with the class of their character, and the ends of texts.
    //
    //   | 18 17 | 16 .. 9 |   8   | 7 6  |   5 .. 1   |  0  |
    //   | kind  |  data   | first | more | char_class | cut |

    typedef enum logic [1:0] {
        ITEM_BYTE = 2'd0,
        ITEM_END  = 2'd1,   // The end of a text: one more step of the transducer.
        ITEM_MARK = 2'd2    // The end of a batch.
    } item_kind_t;

    typedef struct packed {
        item_kind_t kind;
        logic [7:0] data;
        logic       first;        // The byte is a character's first; the fields below are valid.
        logic [1:0] more;         // Continuation bytes that follow in the character.
        logic [4:0] char_class;   // Of the character; with ITEM_END, the class of the end.
        logic       cut;          // No token bridges this character and the one before.
    } item_t;

    // ---- Records: lengths and kinds beside a stream of bytes. CUT to MARK are words too.
    //
    //   |  27  | 26 .. 24 | 23 .. 0 |
    //   | last |   kind   | payload |     `last`: the text ends with this record.

    typedef enum logic [2:0] {
        RECORD_MERGE   = 3'd0,   // `payload` bytes merge by themselves: a piece, then a part.
        RECORD_RAW     = 3'd1,   // `payload` bytes of a raw stretch.
        RECORD_CUT     = 3'd2,   // A piece ends `payload` bytes after the stretch's first.
        RECORD_CLOSE   = 3'd3,   // The raw stretch ends, and a piece with it.
        RECORD_NOTHING = 3'd4,   // An empty text.
        RECORD_MARK    = 3'd7    // A batch has ended.
    } record_kind_t;

    typedef struct packed {
        logic         last;
        record_kind_t kind;
        logic [23:0]  payload;
    } record_t;

    // ---- Words: the output of a lane. On the word stream, bits 31 to 28 hold the lane.
    //
    //   | 31 .. 28 |  27  | 26 .. 24 | 23 .. 0 |
    //   |   lane   | last |   kind   | payload |     `last`: the last word of its text.

    typedef enum logic [2:0] {
        WORD_ID      = 3'd0,   // `payload` is an id.
        WORD_BYTE    = 3'd1,   // `payload` is a byte of a raw stretch, for the host to merge.
        WORD_CUT     = 3'd2,   // A piece ends `payload` bytes after the stretch's first.
        WORD_CLOSE   = 3'd3,   // The raw stretch ends, and a piece with it.
        WORD_NOTHING = 3'd4,   // An empty text.
        WORD_BATCH   = 3'd7    // All words of a batch are out; out of a lane, its mark.
    } word_kind_t;

    typedef struct packed {
        logic        last;
        word_kind_t  kind;
        logic [23:0] payload;
    } word_t;

    localparam int RECORD_BITS = 28, WORD_BITS = 28;

    // ---- Frames: the header before the bytes of a frame in a packet of 64-bit words.
    //
    //   | 63 .. 56 | 55 .. 28 | 27 .. 24 | 23 .. 17 |  16  | 15 .. 0 |
    //   |  check   |    0     |   lane   |    0     | last | length  |

    localparam logic [7:0] FRAME_CHECK = 8'hF7;

    typedef struct packed {
        logic [7:0]  check;
        logic [27:0] zeros_high;
        logic [3:0]  lane;
        logic [6:0]  zeros_low;
        logic        last;     // The text ends with this frame.
        logic [15:0] length;   // Bytes of the frame; 0 is allowed.
    } frame_header_t;

    // The states of `frames`; its diagram is there, and its proof reads them.

    typedef enum logic [2:0] {
        FRAME_HEADER = 3'd0,   // The next word is a header.
        FRAME_BODY   = 3'd1,   // The next word has bytes of the frame.
        FRAME_EMPTY  = 3'd2,   // A frame without bytes ends its text.
        FRAME_DROP   = 3'd3,   // The rest of a bad packet.
        FRAME_CLOSE  = 3'd4,   // The packet has ended; open texts end.
        FRAME_MARK   = 3'd5    // Every lane gets its mark.
    } frame_state_t;

    // ---- The table port: how the loader writes and reads the tables of a lane.
    //
    //   |  65   |  64  | 63 .. 60 | 59 .. 40 | 39 .. 0 |
    //   | write | read |  select  | address  |  data   |     bits 63 to 0: a word of an image
    //
    // `write` and `read` are strobes of one cycle, and only while the lane is idle. A response is
    // the entry for one cycle, a fixed number of cycles after `read`, and zero in all others: so
    // the responses of all blocks are joined by an OR.

    typedef enum logic [3:0] {
        TABLE_BLOCKS  = 4'd0,   // classify: a row of classes for each block of 128 code points.
        TABLE_CLASSES = 4'd1,   // classify: the class by row and low 7 bits of the code point.
        TABLE_SPLIT   = 4'd2,   // split: next state and actions by state and class.
        TABLE_BRIDGES = 4'd3,   // bridges: bits by hash, in words of 32.
        TABLE_BYTES   = 4'd4,   // dispatch: the id of each byte.
        TABLE_OPTIONS = 4'd5,   // classify: the classes of ends and bad bytes.
        TABLE_PAIRS   = 4'd8    // pairs: bank 0; 9 to 11 are banks 1 to 3.
    } table_t;

    typedef struct packed {
        logic        write;
        logic        read;
        logic [3:0]  select;    // A `table_t`, or a number that no table has.
        logic [19:0] address;
        logic [39:0] data;
    } table_request_t;

    typedef logic [39:0] table_entry_t;

endpackage

`default_nettype wire
