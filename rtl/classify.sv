// Reads UTF-8: passes on each byte, and with a character's first its class, its length and whether a piece may be
// cut before it.
//
//   text  -->  window of four  -->  character  -->  block  -->  class      one byte per cycle, latency 11
//                                           \-->  bridges  -->  cut
//
// `read_char` in crates/zeton/src/unicode/mod.rs: a byte at which no valid sequence starts is a character of its own,
// of the class of bad bytes. To know that takes the three bytes that follow: a byte leaves the window when they are
// there, or the end of its text is. The end follows the last byte as an item of its own: a text takes a cycle more
// than its bytes. Tables 0 (blocks of 128 points), 1 (their classes), 3 (bridges) and 5 (options), written while idle.

`default_nettype none

module classify #(
    parameter int BRIDGE_BITS = 16   // The table of bridges has 2^BRIDGE_BITS bits.
) (
    input  wire         clk,
    input  wire         rst,
    output wire         idle,

    // In: a byte (`keep`), or none: an empty text or the end of one (`last`), or a mark between texts (`mark`).
    input  wire         text_valid,
    output wire         text_ready,
    input  wire  [7:0]  text_byte,
    input  wire         text_keep,
    input  wire         text_last,
    input  wire         text_mark,

    // Out: a byte, the end of a text, or a mark.
    output logic        item_valid,
    input  wire         item_ready,
    output logic [1:0]  item_kind,
    output logic [7:0]  item_byte,
    output logic        item_first,   // The byte is a character's first.
    output logic [1:0]  item_more,    // With it: how many bytes of the character follow,
    output logic [4:0]  item_class,   // the character's class (with an end: the class of the end),
    output wire         item_cut,     // no token bridges this character and the one before.

    // Tables: strobes of one cycle. The answer is there 4 cycles after `table_read`, and zero at other times.
    input  wire         table_write,
    input  wire         table_read,
    input  wire  [3:0]  table_select,
    /* verilator lint_off UNUSEDSIGNAL */  // As wide as the widest table.
    input  wire  [19:0] table_address,
    input  wire  [39:0] table_data,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [39:0] table_answer,

    output logic        count_bad
);

    localparam logic [1:0] BYTE = 0, END = 1, MARK = 2;
    localparam logic [3:0] BLOCKS = 0, CLASSES = 1, OPTIONS = 5;

    // The window and stage 1 move while the skid behind them has room; all that is behind it moves at once, unless an
    // item waits to be taken.
    wire advance = !item_valid || item_ready;
    wire room;

    // ---- The window, the oldest at place 0.

    logic [3:0] window_valid;
    logic [1:0] window_kind [0:3];
    logic [7:0] window_byte [0:3];

    wire [3:0] is_byte = {
        window_kind[3] == BYTE, window_kind[2] == BYTE, window_kind[1] == BYTE, window_kind[0] == BYTE
    };

    // All about the oldest is known when three more are there, or as many as its text has.
    wire known = window_valid[0] && (!is_byte[0]
        || window_valid[1] && (!is_byte[1] || window_valid[2] && (!is_byte[2] || window_valid[3])));

    // A place takes what is in the next one when the oldest leaves, or there is room before.
    wire leaves = room && known;
    wire [3:0] moves = {4{leaves}} | ~{&window_valid, &window_valid[2:0], &window_valid[1:0], window_valid[0]};

    // An end enters after a last byte, while the text waits.
    logic ending;
    assign text_ready = moves[3] && !ending;

    always_ff @(posedge clk) begin
        for (int place = 0; place < 3; place++) begin
            if (moves[place]) begin
                window_valid[place] <= window_valid[place + 1];
                window_kind[place]  <= window_kind[place + 1];
                window_byte[place]  <= window_byte[place + 1];
            end
        end
        if (moves[3]) begin
            window_valid[3] <= ending || text_valid && (text_keep || text_last || text_mark);
            window_kind[3]  <= ending ? END : text_keep ? BYTE : text_last ? END : MARK;
            window_byte[3]  <= text_byte;
            ending          <= !ending && text_valid && text_keep && text_last;
        end
        if (rst) begin
            window_valid <= '0;
            ending       <= 1'b0;
        end
    end

    // ---- Stage 1: the character that begins at the oldest byte.

    wire [7:0] byte_0 = window_byte[0], byte_1 = window_byte[1];
    wire [5:0] low_of_1 = byte_1[5:0], low_of_2 = window_byte[2][5:0], low_of_3 = window_byte[3][5:0];
    wire [3:1] continues;            // The place holds a byte that continues a character.
    assign continues[1] = window_valid[1] && is_byte[1] && byte_1[7:6] == 2'b10;
    assign continues[2] = window_valid[2] && is_byte[2] && window_byte[2][7:6] == 2'b10;
    assign continues[3] = window_valid[3] && is_byte[3] && window_byte[3][7:6] == 2'b10;

    // The second byte's range excludes what is spelt too long, surrogates, and points beyond 10FFFF.
    wire is_one   = byte_0 < 8'h80;
    wire is_two   = byte_0 >= 8'hC2 && byte_0 < 8'hE0 && continues[1];
    wire is_three = byte_0[7:4] == 4'hE && continues[1] && continues[2]
        && !(byte_0[3:0] == 4'h0 && byte_1 < 8'hA0) && !(byte_0[3:0] == 4'hD && byte_1 >= 8'hA0);
    wire is_four  = byte_0 >= 8'hF0 && byte_0 < 8'hF5 && continues[1] && continues[2] && continues[3]
        && !(byte_0[2:0] == 3'd0 && byte_1 < 8'h90) && !(byte_0[2:0] == 3'd4 && byte_1 >= 8'h90);

    wire [1:0]  more  = is_four ? 2'd3 : is_three ? 2'd2 : is_two ? 2'd1 : 2'd0;
    wire [20:0] point = is_four ? {byte_0[2:0], low_of_1, low_of_2, low_of_3}
        : is_three ? {5'd0, byte_0[3:0], low_of_1, low_of_2}
        : is_two ? {10'd0, byte_0[4:0], low_of_1} : {14'd0, byte_0[6:0]};

    logic [1:0]  rest;               // Bytes to come of the character that has begun.
    logic        valid_1;
    logic [1:0]  kind_1;
    logic [7:0]  byte_of_1;
    logic        first_1, bad_1;
    logic [1:0]  more_1;
    logic [20:0] point_1;

    always_ff @(posedge clk) begin
        if (room) begin
            valid_1   <= known;
            kind_1    <= window_kind[0];
            byte_of_1 <= byte_0;
            first_1   <= is_byte[0] && rest == 2'd0;
            bad_1     <= !(is_one || is_two || is_three || is_four);
            more_1    <= more;
            point_1   <= point;
            if (known) rest <= rest != 2'd0 ? rest - 2'd1 : is_byte[0] ? more : 2'd0;
        end
        count_bad <= room && valid_1 && first_1 && bad_1;
        if (rst) begin
            rest      <= 2'd0;
            valid_1   <= 1'b0;
            count_bad <= 1'b0;
        end
    end

    wire        char_valid, char_first, char_bad;
    wire [1:0]  char_kind, char_more;
    wire [7:0]  char_byte;
    wire [20:0] char_point;

    skid #(.WIDTH(2 + 8 + 1 + 1 + 2 + 21)) characters (
        .clk, .rst,
        .in_valid(valid_1), .in_ready(room), .in_data({kind_1, byte_of_1, first_1, bad_1, more_1, point_1}),
        .out_valid(char_valid), .out_ready(advance),
        .out_data({char_kind, char_byte, char_first, char_bad, char_more, char_point})
    );

    // ---- Tables, as they are asked for.

    logic        write_blocks, write_classes, read_blocks, read_classes, read_options;
    logic [14:0] access_address;
    logic [7:0]  access_data;
    logic [4:0]  class_of_end, class_of_bad_byte;
    logic        bridges_used;

    always_ff @(posedge clk) begin
        write_blocks   <= table_write && table_select == BLOCKS;
        write_classes  <= table_write && table_select == CLASSES;
        read_blocks    <= table_read && table_select == BLOCKS;
        read_classes   <= table_read && table_select == CLASSES;
        read_options   <= table_read && table_select == OPTIONS;
        access_address <= table_address[14:0];
        access_data    <= table_data[7:0];
        if (table_write && table_select == OPTIONS) begin
            class_of_end      <= table_data[4:0];
            class_of_bad_byte <= table_data[12:8];
            bridges_used      <= table_data[16];
        end
    end

    // ---- Stages 2 and 3: the block of 128 points. Stages 4 to 6: the class.

    // All blocks in planes 0 to 3 and 14; one for the rest, which holds no assigned point.
    wire [4:0]  plane = char_point[20:16];
    wire [11:0] block_address = plane < 5'd4 ? {1'b0, char_point[17:7]}
        : plane == 5'd14 ? {3'b100, char_point[15:7]} : 12'hA00;
    wire [7:0]  block_2;
    logic [7:0] block_3;
    logic [6:0] low_2, low_3;
    wire [4:0]  class_4;
    logic [4:0] class_5;

    memory #(.WIDTH(8), .DEPTH_LOG(12)) blocks (
        .clk,
        .write(write_blocks), .write_address(access_address[11:0]), .write_data(access_data),
        .read(advance), .read_address(read_blocks ? access_address[11:0] : block_address), .read_data(block_2)
    );
    memory #(.WIDTH(5), .DEPTH_LOG(15)) classes (
        .clk,
        .write(write_classes), .write_address(access_address), .write_data(access_data[4:0]),
        .read(advance), .read_address(read_classes ? access_address : {block_3, low_3}), .read_data(class_4)
    );

    // What goes along with the look-ups.
    logic        valid_2, valid_3, valid_4, valid_5;
    logic [13:0] along_2, along_3, along_4, along_5;
    wire  [1:0]  kind_5;
    wire  [7:0]  byte_of_5;
    wire         first_5, bad_5;
    wire  [1:0]  more_5;
    assign {kind_5, byte_of_5, first_5, bad_5, more_5} = along_5;

    always_ff @(posedge clk) begin
        if (advance) begin
            {valid_2, valid_3, valid_4, valid_5, item_valid} <= {char_valid, valid_2, valid_3, valid_4, valid_5};
            along_2 <= {char_kind, char_byte, char_first, char_bad, char_more};
            along_3 <= along_2;
            along_4 <= along_3;
            along_5 <= along_4;
            low_2   <= char_point[6:0];
            low_3   <= low_2;
            block_3 <= block_2;
            class_5 <= class_4;
            item_kind  <= kind_5;
            item_byte  <= byte_of_5;
            item_first <= first_5;
            item_more  <= more_5;
            item_class <= kind_5 == END ? class_of_end : bad_5 ? class_of_bad_byte : class_5;
        end
        if (rst) {valid_2, valid_3, valid_4, valid_5, item_valid} <= 5'd0;
    end

    wire [39:0] bridges_answer;
    bridges #(.BRIDGE_BITS(BRIDGE_BITS)) bridges_of_characters (
        .clk, .rst, .advance, .used(bridges_used),
        .char_valid, .char_is_byte(char_kind == BYTE), .char_byte,
        .char_first, .char_bad, .char_point,
        .cut(item_cut),
        .table_write, .table_read, .table_select,
        .table_address, .table_data, .table_answer(bridges_answer)
    );

    // ---- Answers: from the registers behind the memories, which move while nothing is under way.

    logic [2:0] reading_2, reading_3;   // Options, classes, blocks.

    always_ff @(posedge clk) begin
        reading_2    <= {read_options, read_classes, read_blocks};
        reading_3    <= reading_2;
        table_answer <= bridges_answer
            | (reading_3[0] ? {32'd0, block_3} : 40'd0) | (reading_3[1] ? {35'd0, class_5} : 40'd0)
            | (reading_3[2] ? {23'd0, bridges_used, 3'd0, class_of_bad_byte, 3'd0, class_of_end} : 40'd0);
    end

    assign idle = window_valid == 4'd0 && !ending
        && {valid_1, char_valid, valid_2, valid_3, valid_4, valid_5, item_valid} == 7'd0;

endmodule

`default_nettype wire
