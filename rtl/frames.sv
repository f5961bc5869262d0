// Deals a packet of frames to the lanes, and gives each lane its bytes one by one.
//
//   stream of 64-bit words  -->  a queue per lane  -->  items: a byte, a text's end, a mark
//
// Takes a word per cycle, gives a byte per cycle and lane; latency 5. A frame is a header and then its bytes, lowest
// first: [15:0] bytes, [16] the text ends here, [31:24] lane, [63:56] CHECK, else zero. When a packet has ended, a mark
// goes into every lane. A header that is none, a packet that ends inside a frame or while a text is open: `bad` is high
// for a cycle or more, what is left of the packet is dropped, open texts are ended, and the marks go on. So a mark is
// always between two texts.

`default_nettype none

module frames #(
    parameter int LANES     = 1,
    parameter int DEPTH_LOG = 9    // Words of 8 bytes that wait for a lane.
) (
    input  wire                clk,
    input  wire                rst,
    output wire                idle,
    output logic               bad,

    input  wire                in_valid,
    output wire                in_ready,
    input  wire  [63:0]        in_data,
    input  wire                in_last,

    output wire  [LANES-1:0]   text_valid,
    input  wire  [LANES-1:0]   text_ready,
    output wire  [LANES*8-1:0] text_byte,
    output wire  [LANES-1:0]   text_keep,    // There is a byte.
    output wire  [LANES-1:0]   text_last,    // The text ends, after the byte if there is one.
    output wire  [LANES-1:0]   text_mark     // A packet has ended; without a byte.
);

    localparam logic [7:0] CHECK = 8'hF7;

    localparam logic [2:0] HEADER = 0, BODY = 1, EMPTY = 2, DROP = 3, CLOSE = 4, MARK = 5;
    logic [2:0]       state;
    logic [LANES-1:0] lane;         // Of this frame, one bit for each lane.
    logic [15:0]      left;         // Bytes of this frame that are to come.
    logic             text_ends;    // With this frame.
    logic             packet_ended;
    logic [LANES-1:0] open;         // Lanes that are inside a text.
    logic [LANES-1:0] unmarked;     // Lanes that wait for their mark.

    // Whether a word would do as a header is known when it is here.
    localparam logic [15:0] KNOWN = 16'((1 << LANES) - 1);  // A bit for each lane that there is.
    wire        in_fits  = in_data[63:56] == CHECK && in_data[55:28] == '0 && in_data[23:17] == '0 && KNOWN[in_data[27:24]];
    wire        in_empty = in_data[15:0] == '0;
    wire        word_valid, word_last, word_fits, word_empty;
    wire [63:0] word_data;
    logic       word_ready;

    skid #(.WIDTH(67)) words (
        .clk, .rst,
        .in_valid, .in_ready, .in_data({in_fits, in_empty, in_last, in_data}),
        .out_valid(word_valid), .out_ready(word_ready), .out_data({word_fits, word_empty, word_last, word_data})
    );

    wire [LANES-1:0] room;
    wire             lane_room = |(room & lane);
    wire             take      = word_valid && word_ready;
    logic            body_ends;     // Of this frame no more than eight bytes are to come.

    always_comb begin
        case (state)
            HEADER, DROP: word_ready = 1'b1;
            BODY:         word_ready = lane_room;
            default:      word_ready = 1'b0;
        endcase
    end

    // What enters the queues. An end without a byte has a count of 0, and so has a mark.
    logic [LANES-1:0] put;
    logic [3:0]       put_count;
    logic             put_last;
    wire              put_mark = state == MARK;

    always_comb begin
        put       = '0;
        put_count = '0;
        put_last  = 1'b0;
        case (state)
            BODY: begin
                put       = word_valid ? room & lane : '0;
                put_count = body_ends ? left[3:0] : 4'd8;
                put_last  = body_ends && text_ends;
            end
            EMPTY: begin
                put      = room & lane;
                put_last = 1'b1;
            end
            CLOSE: begin
                put      = room & open;
                put_last = 1'b1;
            end
            MARK:    put = room & unmarked;
            default: ;
        endcase
    end

    always_ff @(posedge clk) begin
        bad <= 1'b0;
        if (put_last) open <= open & ~put;
        case (state)
            HEADER: if (take) begin
                lane         <= LANES'(1'b1) << word_data[27:24];
                left         <= word_data[15:0];
                body_ends    <= word_data[15:0] <= 16'd8;
                text_ends    <= word_data[16];
                packet_ended <= word_last;
                if (!word_fits) begin
                    bad   <= 1'b1;
                    state <= word_last ? CLOSE : DROP;
                end else begin
                    open <= open | (LANES'(1'b1) << word_data[27:24]);
                    if (!word_empty)        state <= word_last ? CLOSE : BODY;
                    else if (word_data[16]) state <= EMPTY;
                    else if (word_last)     state <= CLOSE;
                end
            end
            BODY: if (take) begin
                left      <= left - 16'd8;
                body_ends <= left <= 16'd16;
                if (word_last)      state <= CLOSE;
                else if (body_ends) state <= HEADER;
            end
            EMPTY: if (lane_room) state <= packet_ended ? CLOSE : HEADER;
            DROP:  if (take && word_last) state <= CLOSE;
            CLOSE: begin
                // Nothing is open after a packet that is whole.
                unmarked <= '1;
                if (open == '0) state <= MARK;
                else            bad <= 1'b1;
            end
            default: begin  // MARK
                unmarked <= unmarked & ~put;
                if ((unmarked & ~put) == '0) state <= HEADER;
            end
        endcase
        if (rst) begin
            state <= HEADER;
            open  <= '0;
            bad   <= 1'b0;
        end
    end

    // A queue for each lane, and of its words one byte after another.
    wire [LANES-1:0] waiting;

    generate
        for (genvar l = 0; l < LANES; l++) begin : queue
            wire [69:0]        item;
            wire [3:0]         count    = item[67:64];
            logic [2:0]        at;        // The byte that is offered.
            wire               at_end   = 4'(at) + 4'd1 >= count;
            wire [DEPTH_LOG:0] level;

            fifo #(.WIDTH(70), .DEPTH_LOG(DEPTH_LOG)) items (
                .clk, .rst,
                .in_valid(put[l]), .in_ready(room[l]), .in_data({put_mark, put_last, put_count, word_data}),
                .out_valid(text_valid[l]), .out_ready(text_ready[l] && at_end), .out_data(item),
                .level
            );

            assign waiting[l]          = level != '0;
            assign text_byte[l*8 +: 8] = item[at*8 +: 8];
            assign text_keep[l]        = count != '0;
            assign text_last[l]        = item[68] && at_end;
            assign text_mark[l]        = item[69];

            always_ff @(posedge clk) begin
                if (text_valid[l] && text_ready[l]) at <= at_end ? '0 : at + 3'd1;
                if (rst) at <= '0;
            end
        end
    endgenerate

    assign idle = state == HEADER && !word_valid && open == '0 && waiting == '0;

endmodule

`default_nettype wire
