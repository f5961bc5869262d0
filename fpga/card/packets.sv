// Packets out of a stream that does not keep their ends: a header before each says how many words it has.
//
//   in: header, n words, header, ...  -->  out: n words, `out_last` with the last      a word per cycle, latency 0
//
// A DMA engine ends a stream wherever a transfer ends, so its own end marks are not looked at. Header: [63:32] HEADER, [31:0] n.
// Between packets, a word that is no header is dropped; `restart` goes back to there, whatever is left of a packet.

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

    logic [31:0] left;      // Words of this packet.
    logic        in_packet;
    wire         gone = out_valid && out_ready;

    assign in_ready  = !in_packet || out_ready;
    assign out_valid = in_packet && in_valid;
    assign out_data  = in_data;
    assign out_last  = left == 32'd1;

    always_ff @(posedge clk) begin
        if (!in_packet) begin
            left      <= in_data[31:0];
            in_packet <= in_valid && in_data[63:32] == HEADER && in_data[31:0] != '0;
        end else if (gone) begin
            left      <= left - 32'd1;
            in_packet <= !out_last;
        end
        if (rst || restart) in_packet <= 1'b0;
    end

endmodule

`default_nettype wire
