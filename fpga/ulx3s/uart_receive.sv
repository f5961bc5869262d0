// Bytes from a serial line: 8 bits, lowest first, one stop bit, no parity.
//
//   line  -->  data, for one cycle      a byte in ten bits of BIT_CYCLES each
//
// Nothing waits: who takes bytes takes them at once. A byte without its stop bit is dropped; a line that stays low for
// twice as long as a byte is a break, by which the host says that it starts anew.

`default_nettype none

module uart_receive #(
    parameter int BIT_CYCLES = 25   // At least 4.
) (
    input  wire        clk,
    input  wire        rst,

    input  wire        line,
    output logic       valid,
    output logic [7:0] data,
    output logic       broken      // High during a break.
);

    localparam int BREAK_CYCLES = 20 * BIT_CYCLES;
    localparam int LOW_BITS     = $clog2(BREAK_CYCLES + 1);
    localparam int WAIT_BITS    = $clog2(BIT_CYCLES + 1);

    // The line has a clock of its own.
    logic [2:0] seen;
    wire        now = seen[2];

    always_ff @(posedge clk) begin
        seen <= {seen[1:0], line};
        if (rst) seen <= '1;
    end

    // A bit is looked at in its middle: the start bit, eight bits, the stop bit.
    logic                 busy;
    logic [WAIT_BITS-1:0] left;     // Cycles to the next look.
    logic [3:0]           at;

    always_ff @(posedge clk) begin
        valid <= 1'b0;
        if (!busy) begin
            busy <= !now;
            left <= WAIT_BITS'(BIT_CYCLES / 2 - 1);
            at   <= '0;
        end else if (left != '0) begin
            left <= left - 1'b1;
        end else begin
            left <= WAIT_BITS'(BIT_CYCLES - 1);
            at   <= at + 4'd1;
            if (at == 4'd0 && now) busy <= 1'b0;          // It was no start bit.
            if (at == 4'd9) begin
                busy  <= 1'b0;
                valid <= now;
            end else begin
                data <= {now, data[7:1]};
            end
        end
        if (rst || broken) begin
            busy  <= 1'b0;
            valid <= 1'b0;
        end
    end

    logic [LOW_BITS-1:0] low;       // Cycles that the line has been low for.

    always_ff @(posedge clk) begin
        if (now)          low <= '0;
        else if (!broken) low <= low + 1'b1;
        if (rst) low <= '0;
    end

    assign broken = low == LOW_BITS'(BREAK_CYCLES);

endmodule

`default_nettype wire
