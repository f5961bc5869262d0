// A register between two ends of a stream, in both directions, that keeps pace.
//
//   in  -->  side register, register  -->  out        one word per cycle, latency 1
//
// `in_ready` is a register too: it is high while the side register is free, which takes the word that was let in before
// it was known that `out` waits. So neither valid, nor data, nor ready has a path across. Words are inside exactly while
// `out_valid`.

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

    logic             waits;         // There is a word in the side register.
    logic [WIDTH-1:0] side;

    wire put      = in_valid && in_ready;
    wire out_free = !out_valid || out_ready;
    wire waits_on = !out_free && (waits || put);

    always_ff @(posedge clk) begin
        in_ready <= !waits_on;
        waits    <= waits_on;
        if (in_ready) side <= in_data;
        if (out_free) begin
            out_valid <= waits || put;
            out_data  <= waits ? side : in_data;
        end
        if (rst) begin
            in_ready  <= 1'b0;
            waits     <= 1'b0;
            out_valid <= 1'b0;
        end
    end

`ifdef FORMAL
    // Any one word is followed: it leaves as the same one in the count of words, unchanged. So all do.
    logic             follow;   // Free: the word that enters now is the one.
    logic             followed;
    logic [WIDTH-1:0] word;     // The one, and
    logic [1:0]       place;    // how many leave until it has left, itself included; zero before and after.
    logic             past_valid;

    wire       take       = out_valid && out_ready;
    wire [1:0] level      = {1'b0, out_valid} + {1'b0, waits};
    wire [1:0] level_next = level + {1'b0, put} - {1'b0, take};

    initial past_valid = 1'b0;

    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (!past_valid) assume (rst);

        if (put && follow && !followed) begin
            followed <= 1'b1;
            word     <= in_data;
            place    <= level_next;
        end else if (take && place != 0) begin
            place <= place - 1'b1;
        end
        if (rst) begin
            followed <= 1'b0;
            place    <= '0;
        end

        if (past_valid) begin
            // Nothing is lost, made up or turned around.
            if (place != 0) assert (followed && place <= level && word == (place == 1 ? out_data : side));
            // There is room for a word while `out` is taken or empty.
            assert ((out_valid || !waits) && !(in_ready && waits));
            if (!$past(rst)) assert (in_ready || waits && !$past(out_free));
            // What is offered stays until it is taken.
            if (!$past(rst) && $past(out_valid && !out_ready)) assert (out_valid && out_data == $past(out_data));
        end
        cover (past_valid && followed && place == 0 && waits);
    end
`endif

endmodule

`default_nettype wire
