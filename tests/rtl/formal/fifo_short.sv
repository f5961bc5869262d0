// Stands in for `fifo` in proofs of blocks that hold one: two words, and a word may take any time to come out.
//
// What `fifo` does is proved in fifo.sv; here only its contract is, with as little state as may be.

`default_nettype none

module fifo #(
    parameter int WIDTH     = 8,
    parameter int DEPTH_LOG = 4
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 in_valid,
    output wire                 in_ready,
    input  wire  [WIDTH-1:0]    in_data,
    output wire                 out_valid,
    input  wire                 out_ready,
    output wire  [WIDTH-1:0]    out_data,
    output wire  [DEPTH_LOG:0]  level
);

    logic             slow;      // Free.
    logic             shown;     // Once offered, the word stays.
    logic [1:0]       count;
    logic [WIDTH-1:0] first, second;

    wire put  = in_valid && in_ready;
    wire take = out_valid && out_ready;
    assign in_ready  = !count[1];
    assign out_valid = count != 0 && (shown || !slow);
    assign out_data  = first;
    assign level     = (DEPTH_LOG + 1)'(count);

    always_ff @(posedge clk) begin
        shown <= out_valid && !out_ready;
        count <= count + 2'(put) - 2'(take);
        if (take) first <= second;
        if (put) begin
            if (count == 2'(take)) first  <= in_data;
            else                   second <= in_data;
        end
        if (rst) begin
            count <= '0;
            shown <= 1'b0;
        end
    end

    // What holds at all times: induction needs to know.
    logic past_valid;
    initial past_valid = 1'b0;
    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (past_valid) assert (count != 3 && (count != 0 || !shown));
    end

endmodule

`default_nettype wire
