// The table loader: writes an image into the tables of all lanes, and reads entries back.
//
//   packet of 64-bit words --> { select, address, data } --> table_request
//                                                             one entry per cycle, latency 1
//
//   image word   | 63 .. 60 | 59 .. 40 | 39 .. 0 |
//                |  select  | address  |  data   |
//
// For example, the word 4_00074_0000000074 (hex) writes the id 116 of the byte 74 into table 4,
// TABLE_BYTES. A load ends with its packet.
//
// Invariant: tables are touched only while the card is idle; a load or a read that is requested
// while busy is refused, and `refused` is high for a cycle. Test: tests/rtl/test_top.py.

`default_nettype none

module loader
    import zeton_pkg::*;
#(
    parameter int LANES = 1
) (
    input  wire               clk,
    input  wire               rst,
    output wire               idle,
    input  wire               streams_idle,   // Nothing is in flight outside of this block.
    output logic              refused,

    // The register bit `load` stays high until `load_clear`.
    input  wire               load,
    output logic              load_clear,
    output logic              load_start,
    output logic              loading,

    input  wire               in_valid,
    output wire               in_ready,
    input  wire  [63:0]       in_data,
    input  wire               in_last,

    // A read: from `read_start` on, `read_valid` is low until `read_entry` is the entry.
    input  wire               read_start,
    input  wire  [7:0]        read_lane,
    input  wire  [3:0]        read_select,
    input  wire  [19:0]       read_address,
    output logic              read_valid,
    output table_entry_t      read_entry,

    // To all lanes. `table_request.read` is low; `lane_read` has a bit for each lane in its place.
    output table_request_t    table_request,
    output logic [LANES-1:0]  lane_read,
    input  wire table_entry_t table_response
);

    // Cycles from `lane_read` in which a table has responded, once, with zeros around it.
    localparam int LATENCY = 8;

    logic [LATENCY:0] read_shift;     // One-hot; a one moves up while a read is under way.
    logic             read_active;    // It is not zero, a cycle later.
    logic             clear_pending;  // `load_clear` takes some cycles to reach `load`.

    assign in_ready = loading;
    assign idle     = !loading && !load && !table_request.write && read_shift == '0;

    always_ff @(posedge clk) begin
        refused             <= 1'b0;
        load_clear          <= 1'b0;
        load_start          <= 1'b0;
        table_request.write <= 1'b0;
        table_request.read  <= 1'b0;
        lane_read           <= '0;
        read_shift          <= read_shift << 1;
        if (!load) clear_pending <= 1'b0;

        // Without a strobe, select and address have no effect.
        table_request.select  <= loading ? in_data[63:60] : read_select;
        table_request.address <= loading ? in_data[59:40] : read_address;
        table_request.data    <= in_data[39:0];

        if (loading) begin
            table_request.write <= in_valid;
            if (in_valid && in_last) begin
                loading       <= 1'b0;
                load_clear    <= 1'b1;
                clear_pending <= 1'b1;
            end
        end else if (load && !clear_pending) begin
            if (streams_idle && !table_request.write && read_shift == '0) begin
                loading    <= 1'b1;
                load_start <= 1'b1;
            end else begin
                load_clear    <= 1'b1;
                clear_pending <= 1'b1;
                refused       <= 1'b1;
            end
        end

        read_active <= read_shift != '0;
        if (read_shift[0])    read_entry <= '0;
        else if (read_active) read_entry <= read_entry | table_response;
        if (read_shift[LATENCY]) read_valid <= 1'b1;
        if (read_start) begin
            read_valid <= 1'b0;
            if (idle && streams_idle) begin
                for (int l = 0; l < LANES; l++) lane_read[l] <= read_lane == 8'(l);
                read_shift <= (LATENCY + 1)'(1'b1);
            end else begin
                refused <= 1'b1;
            end
        end

        if (rst) begin
            refused             <= 1'b0;
            load_clear          <= load;
            clear_pending       <= 1'b0;
            load_start          <= 1'b0;
            loading             <= 1'b0;
            table_request.write <= 1'b0;
            lane_read           <= '0;
            read_shift          <= '0;
            read_active         <= 1'b0;
            read_entry          <= '0;
            read_valid          <= 1'b0;
        end
    end

endmodule

`default_nettype wire
