// The frame parser: deals a packet of frames to the lanes, and gives each lane its bytes in turn.
//
//   64-bit words --> header check --> FIFO per lane --> text_t: bytes, ends of texts, marks
//                                                        one word in, one byte per lane and cycle;
//                                                        latency 5
//
// A frame is a header (`frame_header_t` of zeton_pkg.sv) and then its bytes, lowest first. For
// example, the packet F7000000_00010004, 00000000_65687420 gives lane 0 the bytes 20 74 68 65, the
// last one with `last`, and then a mark. A packet's end puts a mark into every lane.
//
//   HEADER --> BODY ... --> HEADER ... --> CLOSE --> MARK --> HEADER
//     |  \---> EMPTY --------^               ^
//     \------> DROP -------------------------+
//
// A bad packet has a wrong header, or ends inside a frame or an open text. Then `bad_frame` is high
// for a cycle or more, the rest of the packet is dropped, open texts end, and the marks follow.
//
// Invariant: a mark is between two texts, and an offer stays until taken. Proof:
// tests/rtl/formal/frames.sby, by induction. Test: tests/rtl/test_top.py. The host's side: `deal`
// in python/zeton/accel/wire/words.py.

`default_nettype none

module frames
    import zeton_pkg::*;
#(
    parameter int LANES     = 1,
    parameter int DEPTH_LOG = 9    // Words of 8 bytes that wait for a lane.
) (
    input  wire               clk,
    input  wire               rst,
    output wire               idle,
    output logic              bad_frame,

    input  wire               in_valid,
    output wire               in_ready,
    input  wire  [63:0]       in_data,
    input  wire               in_last,

    output wire  [LANES-1:0]  text_valid,
    input  wire  [LANES-1:0]  text_ready,
    output wire text_t [LANES-1:0] text_data
);

    frame_state_t     state;
    logic [LANES-1:0] lane;        // Of this frame, one-hot.
    logic [15:0]      bytes_left;  // Bytes of this frame to come.
    logic             text_ends;   // With this frame.
    logic             packet_ended;
    logic [LANES-1:0] open_lanes;    // Lanes inside a text.
    logic [LANES-1:0] mark_pending;  // Lanes without their mark.

    wire        word_valid, word_last, word_is_header, word_is_empty;
    wire [63:0] word_data;

    // The header check, before the skid: a bit for each lane that exists.
    localparam logic [15:0] LANE_EXISTS = 16'((1 << LANES) - 1);
    /* verilator lint_off UNUSEDSIGNAL */  // The check and the state machine use a part each.
    wire frame_header_t in_header = in_data;
    wire frame_header_t header    = word_data;
    /* verilator lint_on UNUSEDSIGNAL */
    wire in_is_header = in_header.check == FRAME_CHECK && in_header.zeros_high == '0
        && in_header.zeros_low == '0 && LANE_EXISTS[in_header.lane];
    wire in_is_empty  = in_header.length == '0;

    logic       word_ready;

    skid #(.WIDTH(67)) word_skid (
        .clk, .rst,
        .in_valid, .in_ready, .in_data({in_is_header, in_is_empty, in_last, in_data}),
        .out_valid(word_valid), .out_ready(word_ready), .out_data({word_is_header, word_is_empty, word_last, word_data})
    );

    wire [LANES-1:0] fifo_ready;
    wire             lane_ready = |(fifo_ready & lane);
    wire             word_pop   = word_valid && word_ready;
    logic            body_ends;  // Eight bytes of this frame to come, or fewer.

    always_comb begin
        case (state)
            FRAME_HEADER, FRAME_DROP: word_ready = 1'b1;
            FRAME_BODY:               word_ready = lane_ready;
            default:                  word_ready = 1'b0;
        endcase
    end

    // The input of the FIFOs. An end without a byte has a count of 0, and so has a mark.
    logic [LANES-1:0] push;
    logic [3:0]       push_count;
    logic             push_last;
    wire              push_mark = state == FRAME_MARK;

    always_comb begin
        push       = '0;
        push_count = '0;
        push_last  = 1'b0;
        case (state)
            FRAME_BODY: begin
                push       = word_valid ? fifo_ready & lane : '0;
                push_count = body_ends ? bytes_left[3:0] : 4'd8;
                push_last  = body_ends && text_ends;
            end
            FRAME_EMPTY: begin
                push      = fifo_ready & lane;
                push_last = 1'b1;
            end
            FRAME_CLOSE: begin
                push      = fifo_ready & open_lanes;
                push_last = 1'b1;
            end
            FRAME_MARK: push = fifo_ready & mark_pending;
            default:    ;
        endcase
    end

    always_ff @(posedge clk) begin
        bad_frame <= 1'b0;
        if (push_last) open_lanes <= open_lanes & ~push;
        case (state)
            FRAME_HEADER: if (word_pop) begin
                lane         <= LANES'(1'b1) << header.lane;
                bytes_left   <= header.length;
                body_ends    <= header.length <= 16'd8;
                text_ends    <= header.last;
                packet_ended <= word_last;
                if (!word_is_header) begin
                    bad_frame <= 1'b1;
                    state     <= word_last ? FRAME_CLOSE : FRAME_DROP;
                end else begin
                    open_lanes <= open_lanes | (LANES'(1'b1) << header.lane);
                    if (!word_is_empty)   state <= word_last ? FRAME_CLOSE : FRAME_BODY;
                    else if (header.last) state <= FRAME_EMPTY;
                    else if (word_last)   state <= FRAME_CLOSE;
                end
            end
            FRAME_BODY: if (word_pop) begin
                bytes_left <= bytes_left - 16'd8;
                body_ends  <= bytes_left <= 16'd16;
                if (word_last)      state <= FRAME_CLOSE;
                else if (body_ends) state <= FRAME_HEADER;
            end
            FRAME_EMPTY: if (lane_ready) state <= packet_ended ? FRAME_CLOSE : FRAME_HEADER;
            FRAME_DROP: if (word_pop && word_last) state <= FRAME_CLOSE;
            FRAME_CLOSE: begin
                // After a good packet no text is open.
                mark_pending <= '1;
                if (open_lanes == '0) state <= FRAME_MARK;
                else                  bad_frame <= 1'b1;
            end
            default: begin  // FRAME_MARK
                mark_pending <= mark_pending & ~push;
                if ((mark_pending & ~push) == '0) state <= FRAME_HEADER;
            end
        endcase
        if (rst) begin
            state      <= FRAME_HEADER;
            open_lanes <= '0;
            bad_frame  <= 1'b0;
        end
    end

    // A FIFO for each lane; its words leave a byte at a time.
    //
    //   | 69   |  68  | 67 .. 64 | 63 .. 0 |
    //   | mark | last |  count   |  bytes  |

    wire [LANES-1:0] has_words;

    generate
        for (genvar l = 0; l < LANES; l++) begin : queue
            wire [69:0]        item;
            wire [3:0]         count = item[67:64];
            logic [2:0]        byte_index;  // Of the offered byte.
            wire               at_end = 4'(byte_index) + 4'd1 >= count;
            wire [DEPTH_LOG:0] occupancy;

            fifo #(.WIDTH(70), .DEPTH_LOG(DEPTH_LOG)) items (
                .clk, .rst,
                .in_valid(push[l]), .in_ready(fifo_ready[l]), .in_data({push_mark, push_last, push_count, word_data}),
                .out_valid(text_valid[l]), .out_ready(text_ready[l] && at_end), .out_data(item),
                .occupancy
            );

            assign has_words[l] = occupancy != '0;
            assign text_data[l] = {item[byte_index*8 +: 8], count != '0, item[68] && at_end, item[69]};

            always_ff @(posedge clk) begin
                if (text_valid[l] && text_ready[l]) byte_index <= at_end ? '0 : byte_index + 3'd1;
                if (rst) byte_index <= '0;
            end
        end
    endgenerate

    assign idle = state == FRAME_HEADER && !word_valid && open_lanes == '0 && has_words == '0;

endmodule

`default_nettype wire
