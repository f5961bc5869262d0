// The UTF-8 decoder: gives each byte, and with a character's first byte its class, its length and
// whether a piece may be cut before it.
//
//   text --> window of 4 bytes --> character --> skid --> block --> class --> item
//                                                  \----> bridges --> cut
//                                                          one byte per cycle, latency 11
//
// For example, the text E4 B8 AD FF ("中", then a byte that is not UTF-8):
//
//   item   data  first  more  char_class
//   BYTE    E4     1      2    of U+4E2D
//   BYTE    B8     0
//   BYTE    AD     0
//   BYTE    FF     1      0    of bad bytes
//   END                        of the end
//
// A byte at which no valid sequence begins is a character by itself, of the class of bad bytes.
// Deciding it takes the three bytes that follow: a byte leaves the window when they are there, or
// the end of its text is. The end follows the last byte as an item, so a text takes one cycle more
// than it has bytes.
//
// Invariant: an offered item stays until it is taken; proof tests/rtl/formal/classify.sby.
// Specification: `read` in python/zeton/reference.py, `_characters` of `Lane` in
// python/zeton/accel/reference.py, and `read_char` in crates/zeton/src/sys/unicode/mod.rs.
// Test: tests/rtl/test_classify.py. Tables 0 (blocks of 128 points), 1 (their classes), 3 (bridges)
// and 5 (options) are written while idle.

`default_nettype none

module classify
    import zeton_pkg::*;
#(
    parameter int BRIDGE_BITS = 16   // The table of bridges has 2^BRIDGE_BITS bits.
) (
    input  wire  clk,
    input  wire  rst,
    output wire  idle,

    // In: bytes, ends of texts, marks; an item with none of the three is dropped.
    input  wire  text_valid,
    output wire  text_ready,
    input  wire  text_t text_data,

    // Out: a byte, the end of a text, or a mark.
    output logic item_valid,
    input  wire  item_ready,
    output wire  item_t item_data,

    // Response latency: 4 cycles.
    /* verilator lint_off UNUSEDSIGNAL */  // The request is as wide as the widest table.
    input  wire  table_request_t table_request,
    /* verilator lint_on UNUSEDSIGNAL */
    output table_entry_t table_response,

    output logic count_bad
);

    // The window and stage 1 move while the skid behind them is ready; all stages behind it move
    // together, unless an item waits at the output.
    wire advance = !item_valid || item_ready;
    wire char_in_ready;

    // ---- The window: four places, the oldest item at place 0.

    logic [3:0] window_valid;
    logic [1:0] window_kind [0:3];
    logic [7:0] window_byte [0:3];

    wire [3:0] is_byte = {
        window_kind[3] == ITEM_BYTE, window_kind[2] == ITEM_BYTE,
        window_kind[1] == ITEM_BYTE, window_kind[0] == ITEM_BYTE
    };

    // The oldest item is decided when three more are in the window, or its text has fewer.
    wire decided = window_valid[0] && (!is_byte[0]
        || window_valid[1] && (!is_byte[1] || window_valid[2] && (!is_byte[2] || window_valid[3])));

    // A place takes the item of the next one when the oldest pops, or a place before it is empty.
    wire pop = char_in_ready && decided;
    wire [3:0] shift = {4{pop}} | ~{&window_valid, &window_valid[2:0], &window_valid[1:0], window_valid[0]};

    // After a text's last byte, an end enters the window; the input waits for that cycle.
    logic end_pending;
    assign text_ready = shift[3] && !end_pending;

    always_ff @(posedge clk) begin
        for (int place = 0; place < 3; place++) begin
            if (shift[place]) begin
                window_valid[place] <= window_valid[place + 1];
                window_kind[place]  <= window_kind[place + 1];
                window_byte[place]  <= window_byte[place + 1];
            end
        end
        if (shift[3]) begin
            window_valid[3] <= end_pending || text_valid && (text_data.keep || text_data.last || text_data.mark);
            window_kind[3]  <= end_pending ? ITEM_END : text_data.keep ? ITEM_BYTE : text_data.last ? ITEM_END : ITEM_MARK;
            window_byte[3]  <= text_data.data;
            end_pending     <= !end_pending && text_valid && text_data.keep && text_data.last;
        end
        if (rst) begin
            window_valid <= '0;
            end_pending  <= 1'b0;
        end
    end

    // ---- Stage 1: the character that begins at the oldest byte.

    wire [7:0] byte_0 = window_byte[0], byte_1 = window_byte[1];
    wire [5:0] low_of_1 = byte_1[5:0], low_of_2 = window_byte[2][5:0], low_of_3 = window_byte[3][5:0];
    wire [3:1] continues;            // The place holds a continuation byte.
    assign continues[1] = window_valid[1] && is_byte[1] && byte_1[7:6] == 2'b10;
    assign continues[2] = window_valid[2] && is_byte[2] && window_byte[2][7:6] == 2'b10;
    assign continues[3] = window_valid[3] && is_byte[3] && window_byte[3][7:6] == 2'b10;

    // The second byte's range excludes overlong forms, surrogates, and points beyond 10FFFF.
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

    logic [1:0]  bytes_left;         // Continuation bytes of the current character to come.
    logic        valid_1;
    logic [1:0]  kind_1;
    logic [7:0]  byte_of_1;
    logic        first_1, bad_1;
    logic [1:0]  more_1;
    logic [20:0] point_1;

    always_ff @(posedge clk) begin
        if (char_in_ready) begin
            valid_1   <= decided;
            kind_1    <= window_kind[0];
            byte_of_1 <= byte_0;
            first_1   <= is_byte[0] && bytes_left == 2'd0;
            bad_1     <= !(is_one || is_two || is_three || is_four);
            more_1    <= more;
            point_1   <= point;
            if (decided) bytes_left <= bytes_left != 2'd0 ? bytes_left - 2'd1 : is_byte[0] ? more : 2'd0;
        end
        count_bad <= char_in_ready && valid_1 && first_1 && bad_1;
        if (rst) begin
            bytes_left <= 2'd0;
            valid_1   <= 1'b0;
            count_bad <= 1'b0;
        end
    end

    wire        char_valid, char_first, char_bad;
    wire [1:0]  char_kind, char_more;
    wire [7:0]  char_byte;
    wire [20:0] char_point;

    skid #(.WIDTH(2 + 8 + 1 + 1 + 2 + 21)) char_skid (
        .clk, .rst,
        .in_valid(valid_1), .in_ready(char_in_ready), .in_data({kind_1, byte_of_1, first_1, bad_1, more_1, point_1}),
        .out_valid(char_valid), .out_ready(advance),
        .out_data({char_kind, char_byte, char_first, char_bad, char_more, char_point})
    );

    // ---- Table accesses, a cycle after the request.

    logic        write_blocks, write_classes, read_blocks, read_classes, read_options;
    logic [14:0] access_address;
    logic [7:0]  access_data;
    logic [4:0]  class_of_end, class_of_bad_byte;
    logic        bridges_enabled;

    always_ff @(posedge clk) begin
        write_blocks   <= table_request.write && table_request.select == TABLE_BLOCKS;
        write_classes  <= table_request.write && table_request.select == TABLE_CLASSES;
        read_blocks    <= table_request.read && table_request.select == TABLE_BLOCKS;
        read_classes   <= table_request.read && table_request.select == TABLE_CLASSES;
        read_options   <= table_request.read && table_request.select == TABLE_OPTIONS;
        access_address <= table_request.address[14:0];
        access_data    <= table_request.data[7:0];
        if (table_request.write && table_request.select == TABLE_OPTIONS) begin
            class_of_end      <= table_request.data[4:0];
            class_of_bad_byte <= table_request.data[12:8];
            bridges_enabled   <= table_request.data[16];
        end
    end

    // ---- Stages 2 and 3: the block of 128 points. Stages 4 to 6: the class.

    // All blocks in planes 0 to 3 and 14; one entry for the other planes, without assigned points.
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

    // The other fields of the item, delayed to match.
    logic        valid_2, valid_3, valid_4, valid_5;
    logic [13:0] fields_2, fields_3, fields_4, fields_5;
    wire  [1:0]  kind_5;
    wire  [7:0]  byte_of_5;
    wire         first_5, bad_5;
    wire  [1:0]  more_5;
    assign {kind_5, byte_of_5, first_5, bad_5, more_5} = fields_5;

    logic [1:0]  item_kind, item_more;
    logic [7:0]  item_byte;
    logic        item_first;
    logic [4:0]  item_class;
    wire         item_cut;
    assign item_data = {item_kind, item_byte, item_first, item_more, item_class, item_cut};

    always_ff @(posedge clk) begin
        if (advance) begin
            {valid_2, valid_3, valid_4, valid_5, item_valid} <= {char_valid, valid_2, valid_3, valid_4, valid_5};
            fields_2 <= {char_kind, char_byte, char_first, char_bad, char_more};
            fields_3 <= fields_2;
            fields_4 <= fields_3;
            fields_5 <= fields_4;
            low_2    <= char_point[6:0];
            low_3    <= low_2;
            block_3  <= block_2;
            class_5  <= class_4;
            item_kind  <= kind_5;
            item_byte  <= byte_of_5;
            item_first <= first_5;
            item_more  <= more_5;
            item_class <= kind_5 == ITEM_END ? class_of_end : bad_5 ? class_of_bad_byte : class_5;
        end
        if (rst) {valid_2, valid_3, valid_4, valid_5, item_valid} <= 5'd0;
    end

    wire table_entry_t bridges_response;
    bridges #(.BRIDGE_BITS(BRIDGE_BITS)) bridges_of_characters (
        .clk, .rst, .advance, .enable(bridges_enabled),
        .char_valid, .char_is_byte(char_kind == ITEM_BYTE), .char_byte,
        .char_first, .char_bad, .char_point,
        .cut(item_cut),
        .table_request, .table_response(bridges_response)
    );

    // ---- Table responses, from the registers behind the memories: `advance` is high while idle.

    logic [2:0] read_2, read_3;   // { options, classes, blocks }

    always_ff @(posedge clk) begin
        read_2         <= {read_options, read_classes, read_blocks};
        read_3         <= read_2;
        table_response <= bridges_response
            | (read_3[0] ? {32'd0, block_3} : 40'd0) | (read_3[1] ? {35'd0, class_5} : 40'd0)
            | (read_3[2] ? {23'd0, bridges_enabled, 3'd0, class_of_bad_byte, 3'd0, class_of_end} : 40'd0);
    end

    assign idle = window_valid == 4'd0 && !end_pending
        && {valid_1, char_valid, valid_2, valid_3, valid_4, valid_5, item_valid} == 7'd0;

endmodule

`default_nettype wire
