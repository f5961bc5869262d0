// The serial link: registers and both streams of the card in one stream of bytes each way.
//
//   receive  -->  commands  -->  AXI4-Lite, FIFO   -->  text_axis
//   send     <--  messages  <--  AXI4-Lite, words  <--  word_axis      10 bits of the line per byte
//
// Host to board, numbers lowest byte first:
//   01 READ   address                  one register; VALUE follows
//   02 WRITE  address, 4 bytes         one register; WRITTEN follows
//   03 WORDS  n - 1, n words of 8      for the text stream, 1 to 256 of them
//   04 LAST   n - 1, n words of 8      as WORDS; the last one ends the packet
// Board to host:
//   01 VALUE  4 bytes
//   02 WRITTEN
//   03 TAKEN  n                        n words of 8 have left the FIFO: a credit
//   05 WORD   4 bytes                  of the word stream
//
// For example, the host reads register 00 by 01 00 and gets 01 5A 45 54 4E, the letters ZETN.
//
// Flow control is by credits: the FIFO holds 2^QUEUE_LOG words, and a host sends no more than there
// is room for. One register access is outstanding at a time. An unknown command is skipped. A break
// of the line resets the link, and leaves the card as it is.
//
// Invariant: the FIFO never overflows while the host keeps to its credits. Test:
// tests/rtl/test_board.py. The host's side: python/zeton/accel/transports/uart.py.

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

    typedef enum logic [7:0] {
        COMMAND_READ = 8'd1, COMMAND_WRITE = 8'd2, COMMAND_WORDS = 8'd3, COMMAND_LAST = 8'd4
    } command_t;
    typedef enum logic [7:0] {
        MESSAGE_VALUE = 8'd1, MESSAGE_WRITTEN = 8'd2, MESSAGE_TAKEN = 8'd3, MESSAGE_WORD = 8'd5
    } message_t;

    // Credits of one TAKEN; fewer when the FIFO has run empty. Not measured.
    localparam int CREDITS_MANY = 64;

    // Commands.
    wire        byte_valid, is_break;
    wire [7:0]  byte_data;
    wire        reset = rst || is_break;

    uart_receive #(.BIT_CYCLES(BIT_CYCLES)) line_receive (
        .clk, .rst, .line(line_in), .valid(byte_valid), .data(byte_data), .is_break
    );

    typedef enum logic [2:0] {
        COMMAND = 3'd0, ADDRESS = 3'd1, DATA = 3'd2, COUNT = 3'd3, BODY = 3'd4
    } state_t;
    state_t      state;
    logic        is_write, is_last;  // WRITE, not READ; LAST, not WORDS.
    logic [2:0]  byte_count;         // Bytes of the number under way.
    logic [7:0]  words_left;         // Words after the one under way.
    logic [63:0] number;
    wire  [63:0] word = {byte_data, number[63:8]};
    logic        read_now, write_now, queue_push, queue_last;

    always_ff @(posedge clk) begin
        read_now   <= 1'b0;
        write_now  <= 1'b0;
        queue_push <= 1'b0;
        if (byte_valid) begin
            number     <= word;
            byte_count <= byte_count + 3'd1;
            case (state)
                COMMAND: begin
                    is_write <= byte_data == COMMAND_WRITE;
                    is_last  <= byte_data == COMMAND_LAST;
                    case (byte_data)
                        COMMAND_READ, COMMAND_WRITE: state <= ADDRESS;
                        COMMAND_WORDS, COMMAND_LAST: state <= COUNT;
                        default: ;
                    endcase
                end
                ADDRESS: begin
                    control_axil_address <= byte_data;
                    byte_count           <= '0;
                    read_now             <= !is_write;
                    state                <= is_write ? DATA : COMMAND;
                end
                DATA: if (byte_count == 3'd3) begin
                    control_axil_wdata <= word[63:32];
                    write_now          <= 1'b1;
                    state              <= COMMAND;
                end
                COUNT: begin
                    words_left <= byte_data;
                    byte_count <= '0;
                    state      <= BODY;
                end
                default: if (byte_count == 3'd7) begin  // BODY
                    queue_push <= 1'b1;
                    queue_last <= is_last && words_left == '0;
                    words_left <= words_left - 8'd1;
                    if (words_left == '0) state <= COMMAND;
                end
            endcase
        end
        if (reset) begin
            state      <= COMMAND;
            read_now   <= 1'b0;
            write_now  <= 1'b0;
            queue_push <= 1'b0;
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

    logic        value_pending, written_pending;
    logic [31:0] value;

    // The text stream.
    wire               queue_pop = text_axis_tvalid && text_axis_tready;
    wire [QUEUE_LOG:0] occupancy;

    fifo #(.WIDTH(65), .DEPTH_LOG(QUEUE_LOG)) queue (
        .clk, .rst(reset), .occupancy,
        .in_valid(queue_push), .in_ready(), .in_data({queue_last, number}),
        .out_valid(text_axis_tvalid), .out_ready(text_axis_tready),
        .out_data({text_axis_tlast, text_axis_tdata})
    );

    logic [QUEUE_LOG:0] credits;  // Words that left the FIFO since the last TAKEN.
    wire                credits_pending = credits >= (QUEUE_LOG + 1)'(CREDITS_MANY)
        || (credits != '0 && occupancy == '0);
    wire  [7:0]         credits_sent = credits > (QUEUE_LOG + 1)'(255) ? 8'd255 : credits[7:0];

    // Messages: the first byte is lowest.
    logic [39:0] message;
    logic [2:0]  message_left;  // Bytes.
    wire         send_ready;
    wire         message_done = message_left == '0;
    wire         send_value   = message_done && value_pending;
    wire         send_written = message_done && !value_pending && written_pending;
    wire         send_credits = message_done && !value_pending && !written_pending && credits_pending;

    assign word_axis_tready = message_done && !value_pending && !written_pending && !credits_pending && !reset;

    always_ff @(posedge clk) begin
        if (!message_done) begin
            if (send_ready) begin
                message      <= {8'd0, message[39:8]};
                message_left <= message_left - 3'd1;
            end
        end else if (send_value) begin
            message      <= {value, MESSAGE_VALUE};
            message_left <= 3'd5;
        end else if (send_written) begin
            message      <= {32'd0, MESSAGE_WRITTEN};
            message_left <= 3'd1;
        end else if (send_credits) begin
            message      <= {24'd0, credits_sent, MESSAGE_TAKEN};
            message_left <= 3'd2;
        end else if (word_axis_tvalid) begin
            message      <= {word_axis_tdata, MESSAGE_WORD};
            message_left <= 3'd5;
        end

        credits <= credits + (QUEUE_LOG + 1)'(queue_pop) - (send_credits ? (QUEUE_LOG + 1)'(credits_sent) : '0);

        if (send_value)   value_pending   <= 1'b0;
        if (send_written) written_pending <= 1'b0;
        if (control_axil_rvalid) begin
            value         <= control_axil_rdata;
            value_pending <= 1'b1;
        end
        if (control_axil_bvalid) written_pending <= 1'b1;

        if (reset) begin
            message_left    <= '0;
            credits         <= '0;
            value_pending   <= 1'b0;
            written_pending <= 1'b0;
        end
    end

    uart_send #(.BIT_CYCLES(BIT_CYCLES)) line_send (
        .clk, .rst, .valid(!message_done), .ready(send_ready), .data(message[7:0]), .line(line_out)
    );

endmodule

`default_nettype wire
