// A register between two ends of a stream, so that no path crosses it in either direction.
//
//   in  -->  register  -->  out                one word in two cycles, latency 1
//
// For what is far away and slow: the pins of the register bus.

`default_nettype none

module slice #(
    parameter int WIDTH = 8
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              in_valid,
    output wire              in_ready,
    input  wire  [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  wire              out_ready,
    output logic [WIDTH-1:0] out_data
);

    assign in_ready = !out_valid;

    always_ff @(posedge clk) begin
        if (!out_valid) begin
            out_valid <= in_valid;
            out_data  <= in_data;
        end else if (out_ready) begin
            out_valid <= 1'b0;
        end
        if (rst) out_valid <= 1'b0;
    end

endmodule

`default_nettype wire
