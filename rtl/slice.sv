// Two registers between two ends of a stream, one at each, so that no path crosses them in either direction.
//
//   in  -->  near  -->  out                one word in two cycles, latency 2
//
// For what is far away and slow: the pins of the register bus. The way between the two has a cycle of its own.

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

    logic             near_valid;
    logic [WIDTH-1:0] near_data;

    assign in_ready = !near_valid;

    always_ff @(posedge clk) begin
        if (!near_valid) begin
            near_valid <= in_valid;
            near_data  <= in_data;
        end else if (!out_valid) begin
            near_valid <= 1'b0;
        end
        if (!out_valid) begin
            out_valid <= near_valid;
            out_data  <= near_data;
        end else if (out_ready) begin
            out_valid <= 1'b0;
        end
        if (rst) begin
            near_valid <= 1'b0;
            out_valid  <= 1'b0;
        end
    end

endmodule

`default_nettype wire
