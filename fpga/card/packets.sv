// The packetizer: restores the ends of packets in a DMA stream, by a header with a length before
// each.
//
//   in: header, n words, header, ... --> out: n words, `out_last` with the last
//                                            a word per cycle, latency 0
//
//   header   | 63 .. 32 | 31 .. 0 |       for example 4E545041_00000002, F7000000_00010004,
//            |  HEADER  |    n    |       00000000_65687420: a packet of two words
//
// A DMA engine ends a stream wherever a transfer ends, so its own end marks are ignored. Between
// packets, a word without HEADER is dropped. `restart` returns to that state in any packet.
// Invariant: a packet passes unchanged and ends with its n-th word. Test: tests/rtl/test_card.py.

`default_nettype none

module packets #(
    parameter logic [31:0] HEADER = 32'h4E545041
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         restart,

    input  wire         in_valid,
    output wire         in_ready,
    input  wire  [63:0] in_data,

    output wire         out_valid,
    input  wire         out_ready,
    output wire  [63:0] out_data,
    output wire         out_last
);

    logic [31:0] words_left;  // Words of this packet to come.
    logic        in_packet;
    wire         out_moves = out_valid && out_ready;

    assign in_ready  = !in_packet || out_ready;
    assign out_valid = in_packet && in_valid;
    assign out_data  = in_data;
    assign out_last  = words_left == 32'd1;

    always_ff @(posedge clk) begin
        if (!in_packet) begin
            words_left <= in_data[31:0];
            in_packet  <= in_valid && in_data[63:32] == HEADER && in_data[31:0] != '0;
        end else if (out_moves) begin
            words_left <= words_left - 32'd1;
            in_packet  <= !out_last;
        end
        if (rst || restart) in_packet <= 1'b0;
    end

endmodule

`default_nettype wire
