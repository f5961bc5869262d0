// A skid buffer: a register slice that cuts valid, data and ready at full throughput.
//
//   in  --+-->  side register  --+-->  out register  -->  out      one word per cycle, latency 1
//         +----------------------+
//
// `in_ready` is a register too: it is high while the side register is free. The side register takes
// the word that entered before the stall of `out` was known. For example, with `out_ready` low,
// words A and B are accepted (A in the out register, B in the side register), then `in_ready`
// falls.
//
// Invariant: words are inside exactly while `out_valid`; order, no loss, offers stay until taken.
// Proof: tests/rtl/formal/skid.sby, by induction. Test: tests/rtl/test_skid.py.

`default_nettype none

module skid #(
    parameter int WIDTH = 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              in_valid,
    output logic             in_ready,
    input  wire  [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  wire              out_ready,
    output logic [WIDTH-1:0] out_data
);

    logic             side_valid;
    logic [WIDTH-1:0] side_data;

    wire push            = in_valid && in_ready;
    wire out_free        = !out_valid || out_ready;
    wire side_valid_next = !out_free && (side_valid || push);

    always_ff @(posedge clk) begin
        in_ready   <= !side_valid_next;
        side_valid <= side_valid_next;
        if (in_ready) side_data <= in_data;
        if (out_free) begin
            out_valid <= side_valid || push;
            out_data  <= side_valid ? side_data : in_data;
        end
        if (rst) begin
            in_ready   <= 1'b0;
            side_valid <= 1'b0;
            out_valid  <= 1'b0;
        end
    end

`ifdef FORMAL
    // One word, chosen freely, leaves in its place and unchanged; so every word does.
    wire             past_valid, followed;
    wire [WIDTH-1:0] word;
    wire [1:0]       place;

    wire       pop            = out_valid && out_ready;
    wire [1:0] occupancy      = {1'b0, out_valid} + {1'b0, side_valid};
    wire [1:0] occupancy_next = occupancy + {1'b0, push} - {1'b0, pop};

    followed_word #(.WIDTH(WIDTH), .LEVEL_BITS(2)) proof (
        .clk, .rst, .push, .pop, .in_data, .occupancy_next, .past_valid, .followed, .word, .place
    );
    stays #(.WIDTH(WIDTH)) offers (.clk, .rst, .valid(out_valid), .ready(out_ready), .data(out_data));

    always_ff @(posedge clk) begin
        if (past_valid) begin
            // Order: no word is lost, made up or overtaken.
            if (place != 0) assert (followed && place <= occupancy);
            if (place != 0) assert (word == (place == 1 ? out_data : side_data));
            // Full throughput: `in_ready` falls only after a stall.
            assert ((out_valid || !side_valid) && !(in_ready && side_valid));
            if (!$past(rst)) assert (in_ready || side_valid && !$past(out_free));
        end
        cover (past_valid && followed && place == 0 && side_valid);
    end
`endif

endmodule

`default_nettype wire
