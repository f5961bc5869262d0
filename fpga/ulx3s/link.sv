// A serial line as the way to the card: registers and both streams in one stream of bytes each way.
//
//   receive  -->  commands  -->  AXI4-Lite, queue  -->  text_axis
//   send     <--  messages  <--  AXI4-Lite, words  <--  word_axis
//
// Host to board, numbers lowest byte first:
//   01 READ   address                  one register; VALUE follows
//   02 WRITE  address, 4 bytes         one register; WRITTEN follows
//   03 WORDS  n - 1, n words of 8      for the text stream, 1 to 256 of them
//   04 LAST   n - 1, n words of 8      the same; the last one ends the packet
// Board to host:
//   01 VALUE  4 bytes
//   02 WRITTEN
//   03 TAKEN  n                        so many words of 8 have left the queue
//   05 WORD   4 bytes                  of the word stream
// The queue holds 2^QUEUE_LOG words. A host sends no more than there is room for, by TAKEN, and asks for one register at a
// time. What is no command is passed over. A break of the line empties the link; the card it leaves as it is.

`default_nettype none

module link #(
    parameter int BIT_CYCLES = 25,
    parameter int QUEUE_LOG  = 9
) (
    input  wire         clk,
    input  wire         rst,

    input  wire         line_in,
    output wire         line_out,

    output wire         text_axis_tvalid,
    input  wire         text_axis_tready,
    output wire  [63:0] text_axis_tdata,
    output wire         text_axis_tlast,

    input  wire         word_axis_tvalid,
    output wire         word_axis_tready,
    input  wire  [31:0] word_axis_tdata,

    output logic        control_axil_awvalid,
    input  wire         control_axil_awready,
    output logic        control_axil_wvalid,
    input  wire         control_axil_wready,
    output logic [31:0] control_axil_wdata,
    input  wire         control_axil_bvalid,
    output wire         control_axil_bready,
    output logic        control_axil_arvalid,
    input  wire         control_axil_arready,
    output logic [7:0]  control_axil_address,   // For both ways.
    input  wire         control_axil_rvalid,
    output wire         control_axil_rready,
    input  wire  [31:0] control_axil_rdata
);

    localparam logic [7:0] READ = 1, WRITE = 2, WORDS = 3, LAST = 4;
    localparam logic [7:0] VALUE = 1, WRITTEN = 2, TAKEN = 3, WORD = 5;
    localparam int TAKEN_MANY = 64;     // Told at once; fewer when the queue has run empty.

    // Commands.
    wire        byte_valid, broken;
    wire [7:0]  byte_data;
    wire        reset = rst || broken;

    uart_receive #(.BIT_CYCLES(BIT_CYCLES)) line_receive (
        .clk, .rst, .line(line_in), .valid(byte_valid), .data(byte_data), .broken
    );

    localparam logic [2:0] COMMAND = 0, ADDRESS = 1, DATA = 2, COUNT = 3, BODY = 4;
    logic [2:0]  state;
    logic        writes, ends;          // WRITE, not READ; LAST, not WORDS.
    logic [2:0]  at;                    // Bytes of this number.
    logic [7:0]  left;                  // Words that come after this one.
    logic [63:0] gathered;
    wire  [63:0] word = {byte_data, gathered[63:8]};
    logic        read_now, write_now, queue_put, queue_last;

    always_ff @(posedge clk) begin
        read_now  <= 1'b0;
        write_now <= 1'b0;
        queue_put <= 1'b0;
        if (byte_valid) begin
            gathered <= word;
            at       <= at + 3'd1;
            case (state)
                COMMAND: begin
                    writes <= byte_data == WRITE;
                    ends   <= byte_data == LAST;
                    case (byte_data)
                        READ, WRITE: state <= ADDRESS;
                        WORDS, LAST: state <= COUNT;
                        default:     ;
                    endcase
                end
                ADDRESS: begin
                    control_axil_address <= byte_data;
                    at                   <= '0;
                    read_now             <= !writes;
                    state                <= writes ? DATA : COMMAND;
                end
                DATA: if (at == 3'd3) begin
                    control_axil_wdata <= word[63:32];
                    write_now          <= 1'b1;
                    state              <= COMMAND;
                end
                COUNT: begin
                    left  <= byte_data;
                    at    <= '0;
                    state <= BODY;
                end
                default: if (at == 3'd7) begin  // BODY
                    queue_put  <= 1'b1;
                    queue_last <= ends && left == '0;
                    left       <= left - 8'd1;
                    if (left == '0) state <= COMMAND;
                end
            endcase
        end
        if (reset) begin
            state     <= COMMAND;
            read_now  <= 1'b0;
            write_now <= 1'b0;
            queue_put <= 1'b0;
        end
    end

    // Registers.
    always_ff @(posedge clk) begin
        if (control_axil_awready) control_axil_awvalid <= 1'b0;
        if (control_axil_wready)  control_axil_wvalid  <= 1'b0;
        if (control_axil_arready) control_axil_arvalid <= 1'b0;
        if (write_now) begin
            control_axil_awvalid <= 1'b1;
            control_axil_wvalid  <= 1'b1;
        end
        if (read_now) control_axil_arvalid <= 1'b1;
        if (rst) begin
            control_axil_awvalid <= 1'b0;
            control_axil_wvalid  <= 1'b0;
            control_axil_arvalid <= 1'b0;
        end
    end

    assign control_axil_bready = 1'b1;
    assign control_axil_rready = 1'b1;

    logic        value_waits, written_waits;
    logic [31:0] value;

    // The text stream.
    wire               queue_gone = text_axis_tvalid && text_axis_tready;
    wire [QUEUE_LOG:0] level;

    fifo #(.WIDTH(65), .DEPTH_LOG(QUEUE_LOG)) queue (
        .clk, .rst(reset), .level,
        .in_valid(queue_put), .in_ready(), .in_data({queue_last, gathered}),
        .out_valid(text_axis_tvalid), .out_ready(text_axis_tready),
        .out_data({text_axis_tlast, text_axis_tdata})
    );

    logic [QUEUE_LOG:0] taken;          // Words that the host has not been told of.
    wire                taken_waits = taken >= (QUEUE_LOG + 1)'(TAKEN_MANY) || (taken != '0 && level == '0);
    wire  [7:0]         taken_told  = taken > (QUEUE_LOG + 1)'(255) ? 8'd255 : taken[7:0];

    // Messages: the first byte is lowest.
    logic [39:0] message;
    logic [2:0]  message_left;          // Bytes.
    wire         send_ready;
    wire         free       = message_left == '0;
    wire         tell_value = free && value_waits;
    wire         tell_wrote = free && !value_waits && written_waits;
    wire         tell_taken = free && !value_waits && !written_waits && taken_waits;

    assign word_axis_tready = free && !value_waits && !written_waits && !taken_waits && !reset;

    always_ff @(posedge clk) begin
        if (!free) begin
            if (send_ready) begin
                message      <= {8'd0, message[39:8]};
                message_left <= message_left - 3'd1;
            end
        end else if (tell_value) begin
            message      <= {value, VALUE};
            message_left <= 3'd5;
        end else if (tell_wrote) begin
            message      <= {32'd0, WRITTEN};
            message_left <= 3'd1;
        end else if (tell_taken) begin
            message      <= {24'd0, taken_told, TAKEN};
            message_left <= 3'd2;
        end else if (word_axis_tvalid) begin
            message      <= {word_axis_tdata, WORD};
            message_left <= 3'd5;
        end

        taken <= taken + (QUEUE_LOG + 1)'(queue_gone) - (tell_taken ? (QUEUE_LOG + 1)'(taken_told) : '0);

        if (tell_value) value_waits <= 1'b0;
        if (tell_wrote) written_waits <= 1'b0;
        if (control_axil_rvalid) begin
            value       <= control_axil_rdata;
            value_waits <= 1'b1;
        end
        if (control_axil_bvalid) written_waits <= 1'b1;

        if (reset) begin
            message_left  <= '0;
            taken         <= '0;
            value_waits   <= 1'b0;
            written_waits <= 1'b0;
        end
    end

    uart_send #(.BIT_CYCLES(BIT_CYCLES)) line_send (
        .clk, .rst, .valid(!free), .ready(send_ready), .data(message[7:0]), .line(line_out)
    );

endmodule

`default_nettype wire
