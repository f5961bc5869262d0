// The stream rule: an offered word stays until it is taken.

`default_nettype none

module stays #(
    parameter int WIDTH = 8
) (
    input wire             clk,
    input wire             rst,
    input wire             valid,
    input wire             ready,
    input wire [WIDTH-1:0] data
);

    logic past_valid;
    initial past_valid = 1'b0;

    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (!past_valid) assume (rst);
        if (past_valid && !rst && !$past(rst) && $past(valid && !ready)) assert (valid && data == $past(data));
        cover (past_valid && !rst && valid && !ready);
    end

endmodule

`default_nettype wire
