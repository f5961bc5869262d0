// An echo lane for tests of the blocks around the lane: each byte comes back raw, and a text ends
// with CLOSE or NOTHING.
//
//   text  -->  FIFO  -->  words       a byte per cycle, at most two words an item
//
// Tables have 64 entries each, so that a loaded image can be read back.

`default_nettype none

module lane
    import zeton_pkg::*;
#(
    parameter int ID_BITS     = 17,
    parameter int BANK_BITS   = 15,
    parameter int UNITS       = 12,
    parameter int SLOTS       = 16,
    parameter int WIDE_UNITS  = 2,
    parameter int WIDE_SLOTS  = 32,
    parameter int BRIDGE_BITS = 16,
    parameter int BYTES_LOG   = 11
) (
    input  wire         clk,
    input  wire         rst,
    output wire         idle,

    input  wire         text_valid,
    output wire         text_ready,
    input  wire text_t  text_data,

    output wire         word_valid,
    input  wire         word_ready,
    output word_t       word_data,

    input  wire table_request_t table_request,
    output wire table_entry_t   table_response,

    output wire         count_byte,
    output wire         count_piece,
    output wire         count_bad,
    output wire         count_id,
    output wire         count_raw,
    output wire  [1:0]  count_lookup
);

    wire         item_valid;
    wire text_t  item;
    logic        open;           // A text is open.
    logic        byte_sent;      // The byte of an item that also ends the text has left.
    wire  [5:0]  occupancy;
    wire         item_ready = word_ready && (!item.keep || !item.last || byte_sent);

    fifo #(.WIDTH(11), .DEPTH_LOG(5)) items (
        .clk, .rst,
        .in_valid(text_valid), .in_ready(text_ready), .in_data(text_data),
        .out_valid(item_valid), .out_ready(item_ready), .out_data(item), .occupancy
    );

    assign word_valid = item_valid;
    always_comb begin
        if (item.mark)                    word_data = {1'b0, WORD_BATCH, 24'd0};
        else if (item.keep && !byte_sent) word_data = {1'b0, WORD_BYTE, 16'd0, item.data};
        else if (open)                    word_data = {1'b1, WORD_CLOSE, 24'd0};
        else                              word_data = {1'b1, WORD_NOTHING, 24'd0};
    end

    always_ff @(posedge clk) begin
        if (word_valid && word_ready) begin
            byte_sent <= item.keep && item.last && !byte_sent;
            if (!item.mark) open <= !word_data.last;
        end
        if (rst) begin
            byte_sent <= 1'b0;
            open      <= 1'b0;
        end
    end

    assign idle = occupancy == '0;

    // Tables. Response latency: 4 cycles.
    logic [39:0] entries [0:1023];
    logic [39:0] responses [0:3];
    assign table_response = responses[3];
    always_ff @(posedge clk) begin
        if (table_request.write) entries[{table_request.select, table_request.address[5:0]}] <= table_request.data;
        responses[0] <= table_request.read ? entries[{table_request.select, table_request.address[5:0]}] : '0;
        for (int i = 1; i < 4; i++) responses[i] <= responses[i - 1];
    end

    assign count_byte   = text_valid && text_ready && text_data.keep;
    assign count_piece  = word_valid && word_ready && word_data.kind == WORD_CLOSE;
    assign count_raw    = word_valid && word_ready && word_data.kind == WORD_BYTE;
    assign count_bad    = count_raw && word_data.payload[7:0] == 8'hFF;
    assign count_id     = 1'b0;
    assign count_lookup = {2{count_raw}};

endmodule

`default_nettype wire
