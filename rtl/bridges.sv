// Tells whether a piece may be cut before a character: no token bridges it and the character before.
//
//   two characters  -->  two hashes  -->  table of bits  -->  cut      one character per cycle, latency 5
//
// `cuts` and `crosses` in crates/zeton/src/merge/bridges.rs. One bit by hash for the two points (tokens that hold both
// characters whole), one for the bytes left and right of the border (those that hold one in part): a bit that is set by
// accident costs a cut, never an id. Stages move with `advance`; what is read stays as long as they do not.
// Table 3, in words of 32 bits, written while idle.

`default_nettype none

module bridges #(
    parameter int BRIDGE_BITS = 16   // The table has 2^BRIDGE_BITS bits; at least 2^6.
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         advance,
    input  wire         used,        // Else nothing is ever cut.

    // In: all bytes of texts in order, and their ends.
    input  wire         char_valid,
    input  wire         char_is_byte,
    input  wire  [7:0]  char_byte,
    input  wire         char_first,  // A character begins here,
    input  wire         char_bad,    // which is a byte that is not UTF-8.
    input  wire  [20:0] char_point,

    // Out, 5 moves later.
    output logic        cut,

    // Tables: strobes of one cycle. The answer is there 3 cycles after `table_read`, and zero at other times.
    input  wire         table_write,
    input  wire         table_read,
    input  wire  [3:0]  table_select,
    /* verilator lint_off UNUSEDSIGNAL */  // As wide as the widest table.
    input  wire  [19:0] table_address,
    input  wire  [39:0] table_data,
    /* verilator lint_on UNUSEDSIGNAL */
    output wire  [39:0] table_answer
);

    localparam logic [3:0] BRIDGES = 3;
    localparam int WORD_BITS = BRIDGE_BITS - 5;

    // The character before, if it is whole and of this text.
    logic        left_whole;
    logic [20:0] left_point;
    logic [7:0]  left_byte;

    always_ff @(posedge clk) begin
        if (advance && char_valid) begin
            left_byte <= char_byte;
            if (char_first) left_point <= char_point;
            if (!char_is_byte) left_whole <= 1'b0;
            else if (char_first) left_whole <= !char_bad;
        end
        if (rst) left_whole <= 1'b0;
    end

    // ---- Stage 1: the hashes, or the address of a word that is asked for.

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

    wire select = table_select == BRIDGES;
    logic [BRIDGE_BITS-1:0] points_1, bytes_1;
    logic                   may_1;
    logic                   write_1, read_1, read_2, read_3;
    logic [31:0]            word_1;

    always_ff @(posedge clk) begin
        if (advance) begin
            points_1 <= select && (table_write || table_read) ? {table_address[WORD_BITS-1:0], 5'd0} : hash_of_points;
            bytes_1  <= hash_of_bytes;
            may_1    <= used && char_first && !char_bad && left_whole && (char_byte[7] || left_byte[7]);
        end
        write_1 <= table_write && select;
        read_1  <= table_read && select;
        read_2  <= read_1;
        read_3  <= read_2;
        word_1  <= table_data[31:0];
    end

    // ---- Stage 2: the words. While nothing moves, they are read again.

    logic [BRIDGE_BITS-1:0] points_2, bytes_2;
    logic                   may_2;
    wire  [31:0]            points_word_2, bytes_word_2;
    wire  [WORD_BITS-1:0]   points_address = advance ? points_1[BRIDGE_BITS-1:5] : points_2[BRIDGE_BITS-1:5];
    wire  [WORD_BITS-1:0]   bytes_address  = advance ? bytes_1[BRIDGE_BITS-1:5] : bytes_2[BRIDGE_BITS-1:5];

    memory_pair #(.WIDTH(32), .DEPTH_LOG(WORD_BITS)) bits (
        .clk(clk),
        .write(write_1), .address_0(points_address), .write_data(word_1), .read_data_0(points_word_2),
        .address_1(bytes_address), .read_data_1(bytes_word_2)
    );

    // ---- Stages 3 to 5: the words in registers, then their bits, then whether both are clear.

    logic [31:0] points_word_3, bytes_word_3;
    logic [4:0]  points_3, bytes_3;
    logic        may_3, may_4;
    logic        points_bit_4, bytes_bit_4;

    always_ff @(posedge clk) begin
        if (advance) begin
            points_2      <= points_1;
            bytes_2       <= bytes_1;
            may_2         <= may_1;
            points_3      <= points_2[4:0];
            bytes_3       <= bytes_2[4:0];
            may_3         <= may_2;
            points_word_3 <= points_word_2;
            bytes_word_3  <= bytes_word_2;
            points_bit_4  <= points_word_3[points_3];
            bytes_bit_4   <= bytes_word_3[bytes_3];
            may_4         <= may_3;
            cut           <= may_4 && !points_bit_4 && !bytes_bit_4;
        end
    end

    assign table_answer = read_3 ? {8'd0, points_word_3} : 40'd0;

endmodule

`default_nettype wire
