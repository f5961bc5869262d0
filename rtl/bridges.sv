// Two Bloom filters in one table, over character borders: where a piece may be cut into parts.
//
//   previous character --+--> hash of points --> bit --+--> NOR --> cut
//   this character ------+--> hash of bytes  --> bit --+      one character per cycle, latency 5
//
// A piece may be cut before a character if no token bridges the border. One hash covers the two
// code points (tokens that hold both characters whole), one the bytes left and right of the border
// (tokens that hold one of them in part). For example, at the border in "中文" the hashed values are
// the points 4E2D, 6587 and the bytes AD, E6. Borders between two ASCII characters are never cut.
//
// Invariant: a hash collision costs a cut, never an id, because a set bit only forbids cuts.
// Specification: `for_each_part` in crates/zeton/src/merge/char_bridges.rs, and `parts` of `Lane`
// in python/zeton/accel/reference.py. Test: tests/rtl/test_classify.py. Stages move with `advance`.
// Table 3 holds the bits in words of 32; it is written while idle.

`default_nettype none

module bridges
    import zeton_pkg::*;
#(
    parameter int BRIDGE_BITS = 16   // The table has 2^BRIDGE_BITS bits; at least 2^6.
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         advance,
    input  wire         enable,      // Low: nothing is cut.

    // In: all bytes of texts in order, and their ends.
    input  wire         char_valid,
    input  wire         char_is_byte,
    input  wire  [7:0]  char_byte,
    input  wire         char_first,  // The byte begins a character,
    input  wire         char_bad,    // of one byte that is not UTF-8.
    input  wire  [20:0] char_point,

    // Out, 5 moves later.
    output logic        cut,

    // Response latency: 3 cycles.
    /* verilator lint_off UNUSEDSIGNAL */  // The request is as wide as the widest table.
    input  wire  table_request_t table_request,
    /* verilator lint_on UNUSEDSIGNAL */
    output wire  table_entry_t   table_response
);

    localparam int WORD_ADDRESS_BITS = BRIDGE_BITS - 5;

    // The previous character; valid if it is whole and of the same text.
    logic        left_valid;
    logic [20:0] left_point;
    logic [7:0]  left_byte;

    always_ff @(posedge clk) begin
        if (advance && char_valid) begin
            left_byte <= char_byte;
            if (char_first) left_point <= char_point;
            if (!char_is_byte) left_valid <= 1'b0;
            else if (char_first) left_valid <= !char_bad;
        end
        if (rst) left_valid <= 1'b0;
    end

    // ---- Stage 1: the hashes, or the address of a table access.

    wire [41:0]            points = {left_point, char_point};
    wire [15:0]            bytes  = {left_byte, char_byte};
    wire [BRIDGE_BITS-1:0] hash_of_points, hash_of_bytes;

    genvar bit_at;
    generate
        for (bit_at = 0; bit_at < BRIDGE_BITS; bit_at++) begin : g_hash
            localparam logic [63:0] POINTS = hash::row(8, bit_at);
            localparam logic [63:0] BYTES  = hash::row(9, bit_at);
            assign hash_of_points[bit_at] = ^(points & POINTS[41:0]);
            assign hash_of_bytes[bit_at]  = ^(bytes & BYTES[15:0]);
        end
    endgenerate

    wire table_selected = table_request.select == TABLE_BRIDGES;
    logic [BRIDGE_BITS-1:0] points_1, bytes_1;
    logic                   is_border_1;
    logic                   write_1, read_1, read_2, read_3;
    logic [31:0]            write_data_1;

    always_ff @(posedge clk) begin
        if (advance) begin
            points_1 <= table_selected && (table_request.write || table_request.read)
                ? {table_request.address[WORD_ADDRESS_BITS-1:0], 5'd0} : hash_of_points;
            bytes_1     <= hash_of_bytes;
            is_border_1 <= enable && char_first && !char_bad && left_valid && (char_byte[7] || left_byte[7]);
        end
        write_1      <= table_request.write && table_selected;
        read_1       <= table_request.read && table_selected;
        read_2       <= read_1;
        read_3       <= read_2;
        write_data_1 <= table_request.data[31:0];
    end

    // ---- Stage 2: the words. Without `advance`, they are read again.

    logic [BRIDGE_BITS-1:0]       points_2, bytes_2;
    logic                         is_border_2;
    wire  [31:0]                  points_word_2, bytes_word_2;
    wire  [WORD_ADDRESS_BITS-1:0] points_address = advance ? points_1[BRIDGE_BITS-1:5] : points_2[BRIDGE_BITS-1:5];
    wire  [WORD_ADDRESS_BITS-1:0] bytes_address  = advance ? bytes_1[BRIDGE_BITS-1:5] : bytes_2[BRIDGE_BITS-1:5];

    memory_pair #(.WIDTH(32), .DEPTH_LOG(WORD_ADDRESS_BITS)) bits (
        .clk(clk),
        .write(write_1), .address_0(points_address), .write_data(write_data_1), .read_data_0(points_word_2),
        .address_1(bytes_address), .read_data_1(bytes_word_2)
    );

    // ---- Stages 3 to 5: the words in registers, then their bits, then the NOR.

    logic [31:0] points_word_3, bytes_word_3;
    logic [4:0]  points_3, bytes_3;
    logic        is_border_3, is_border_4;
    logic        points_bit_4, bytes_bit_4;

    always_ff @(posedge clk) begin
        if (advance) begin
            points_2      <= points_1;
            bytes_2       <= bytes_1;
            is_border_2   <= is_border_1;
            points_3      <= points_2[4:0];
            bytes_3       <= bytes_2[4:0];
            is_border_3   <= is_border_2;
            points_word_3 <= points_word_2;
            bytes_word_3  <= bytes_word_2;
            points_bit_4  <= points_word_3[points_3];
            bytes_bit_4   <= bytes_word_3[bytes_3];
            is_border_4   <= is_border_3;
            cut           <= is_border_4 && !points_bit_4 && !bytes_bit_4;
        end
    end

    assign table_response = read_3 ? {8'd0, points_word_3} : 40'd0;

endmodule

`default_nettype wire
