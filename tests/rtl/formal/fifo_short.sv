// A model of `fifo` for proofs of blocks that contain one: two words, and any latency.
//
// The proof of `fifo` itself is in fifo.sv; the model has its contract with little state.

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
    output wire  [DEPTH_LOG:0]  occupancy
);

    logic             slow;      // Free: the latency.
    logic             offered;   // The word was offered, so it stays.
    logic [1:0]       count;
    logic [WIDTH-1:0] first, second;

    wire push = in_valid && in_ready;
    wire pop  = out_valid && out_ready;
    assign in_ready  = !count[1];
    assign out_valid = count != 0 && (offered || !slow);
    assign out_data  = first;
    assign occupancy     = (DEPTH_LOG + 1)'(count);

    always_ff @(posedge clk) begin
        offered <= out_valid && !out_ready;
        count <= count + 2'(push) - 2'(pop);
        if (pop) first <= second;
        if (push) begin
            if (count == 2'(pop)) first  <= in_data;
            else                   second <= in_data;
        end
        if (rst) begin
            count <= '0;
            offered <= 1'b0;
        end
    end

    // Invariant that induction needs.
    logic past_valid;
    initial past_valid = 1'b0;
    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (past_valid) assert (count != 3 && (count != 0 || !offered));
    end

endmodule

`default_nettype wire
