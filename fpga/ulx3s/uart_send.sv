// Bytes to a serial line: 8 bits, lowest first, one stop bit, no parity.
//
//   data  -->  line      a byte in ten bits of BIT_CYCLES each

`default_nettype none

module uart_send #(
    parameter int BIT_CYCLES = 25
) (
    input  wire        clk,
    input  wire        rst,

    input  wire        valid,
    output wire        ready,
    input  wire  [7:0] data,
    output logic       line
);

    localparam int WAIT_BITS = $clog2(BIT_CYCLES + 1);

    logic [9:0]           bits;     // The stop bit is highest; ones follow it.
    logic [3:0]           count;    // Bits that are not over.
    logic [WAIT_BITS-1:0] left;     // Cycles of this bit, but one.

    assign ready = count == '0;

    always_ff @(posedge clk) begin
        if (ready) begin
            bits  <= {1'b1, data, 1'b0};
            count <= valid ? 4'd10 : 4'd0;
            left  <= WAIT_BITS'(BIT_CYCLES - 1);
        end else if (left != '0) begin
            left <= left - 1'b1;
        end else begin
            bits  <= {1'b1, bits[9:1]};
            count <= count - 4'd1;
            left  <= WAIT_BITS'(BIT_CYCLES - 1);
        end
        line <= ready || bits[0];
        if (rst) begin
            count <= '0;
            line  <= 1'b1;
        end
    end

endmodule

`default_nettype wire
