package scene_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aler9/goroslib/pkg/msgs/geometry_msgs"
	"github.com/aler9/goroslib/pkg/msgs/nav_msgs"
	"github.com/aler9/goroslib/pkg/msgs/sensor_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorosbag/gorosbag/internal/testkit/rosmade"
	"github.com/gorosbag/gorosbag/internal/view/scene"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// of makes the scene of one message.
func of(tb testing.TB, msg any) (any, error) {
	tb.Helper()
	t := rosmade.Type(tb, msg)
	if k := scene.KindOf(t); k == "" || k.Gathers() {
		tb.Fatalf("%T has the kind %q", msg, k)
	}
	return scene.Of(t, rosmade.Payload(tb, msg))
}

// u16 returns 16-bit numbers as bytes.
func u16(values ...uint16) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

func diff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateEmpty())
}

func TestScan(t *testing.T) {
	t.Parallel()
	quarter := float32(math.Pi / 2)
	for name, tc := range map[string]struct {
		msg  sensor_msgs.LaserScan
		want *scene.PointsScene
	}{
		"forward is x, left is y": {
			sensor_msgs.LaserScan{Header: std_msgs.Header{FrameId: "laser"}, AngleIncrement: quarter, RangeMin: 1, RangeMax: 10, Ranges: []float32{2, 4}},
			&scene.PointsScene{Frame: "laser", Total: 2, Count: 2, Box: [4]float64{0, 0, 2, 4}, Places: u16(65535, 0, 0, 65535)},
		},
		"negative increment": {
			sensor_msgs.LaserScan{AngleIncrement: -quarter, RangeMax: 10, Ranges: []float32{2, 4}},
			&scene.PointsScene{Total: 2, Count: 2, Box: [4]float64{0, -4, 2, 0}, Places: u16(65535, 65535, 0, 0)},
		},
		"what was not measured": {
			sensor_msgs.LaserScan{AngleIncrement: quarter, RangeMin: 1, RangeMax: 10, Ranges: []float32{0.5, 11, nan, inf, 5}},
			&scene.PointsScene{Total: 5, Count: 1, Box: [4]float64{5, 0, 5, 0}, Places: u16(0, 0), Notes: []string{"without a place that can be shown: 4 points"}},
		},
		"intensities": {
			sensor_msgs.LaserScan{AngleIncrement: quarter, RangeMax: 10, Ranges: []float32{2, 4}, Intensities: []float32{100, 300}},
			&scene.PointsScene{Total: 2, Count: 2, Box: [4]float64{0, 0, 2, 4}, Places: u16(65535, 0, 0, 65535), Colors: []byte{0, 255}, By: "intensity", From: 100, To: 300},
		},
		"empty": {sensor_msgs.LaserScan{RangeMax: 10}, &scene.PointsScene{Places: []byte{}}},
		"far away": {
			sensor_msgs.LaserScan{RangeMax: inf, Ranges: []float32{2, 1e7}},
			&scene.PointsScene{Total: 2, Count: 1, Box: [4]float64{2, 0, 2, 0}, Places: u16(0, 0), Notes: []string{"without a place that can be shown: 1 point"}},
		},
	} {
		tc.want.Kind = scene.Points
		got, err := of(t, tc.msg)
		if d := diff(any(tc.want), got); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
	if _, err := of(t, sensor_msgs.LaserScan{AngleMin: nan}); !errors.Is(err, scene.ErrCorrupt) || err.Error() != "scan from angle NaN in steps of 0: damaged message" {
		t.Error(err)
	}
}

// cloud makes a cloud of fields that are given as "name offset datatype".
func cloud(width, height, step uint32, data []byte, fields ...string) sensor_msgs.PointCloud2 {
	m := sensor_msgs.PointCloud2{Width: width, Height: height, PointStep: step, RowStep: width * step, Data: data}
	for _, f := range fields {
		var p sensor_msgs.PointField
		if _, err := fmt.Sscan(f, &p.Name, &p.Offset, &p.Datatype); err != nil {
			panic(err)
		}
		m.Fields = append(m.Fields, p)
	}
	return m
}

func f32(values ...float32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestCloud(t *testing.T) {
	t.Parallel()
	big := cloud(2, 1, 4, []byte{0xff, 0xff, 0, 2, 0, 1, 0, 2}, "x 0 3", "y 2 3")
	big.IsBigendian = true
	padded := cloud(1, 2, 8, append(append(f32(1, 2), 9, 9, 9, 9), f32(3, 4)...), "x 0 7", "y 4 7")
	padded.RowStep = 12
	noRow := cloud(2, 1, 8, f32(1, 2, 3, 4), "x 0 7", "y 4 7")
	noRow.RowStep = 0
	f64 := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(5)), math.Float64bits(-5))
	for name, tc := range map[string]struct {
		msg  sensor_msgs.PointCloud2
		want *scene.PointsScene
	}{
		"z colors": {
			cloud(2, 1, 12, f32(1, 2, 0, 3, 6, 1), "x 0 7", "y 4 7", "z 8 7"),
			&scene.PointsScene{Total: 2, Count: 2, Box: [4]float64{1, 2, 3, 6}, Places: u16(0, 0, 65535, 65535), By: "z", To: 1, Colors: []byte{0, 255}},
		},
		"intensity before z, and NaN": {
			cloud(3, 1, 16, f32(1, 2, 0, 7, nan, 6, 1, 8, 3, 6, 1, 9), "x 0 7", "y 4 7", "z 8 7", "intensity 12 7"),
			&scene.PointsScene{Total: 3, Count: 2, Box: [4]float64{1, 2, 3, 6}, Places: u16(0, 0, 65535, 65535), By: "intensity", From: 7, To: 9, Colors: []byte{0, 255}, Notes: []string{"without a place that can be shown: 1 point"}},
		},
		"rgb in a float": {
			cloud(1, 1, 12, append(f32(1, 2), 3, 2, 1, 0), "x 0 7", "y 4 7", "rgb 8 7"),
			&scene.PointsScene{Total: 1, Count: 1, Box: [4]float64{1, 2, 1, 2}, Places: u16(0, 0), By: "rgb", Colors: []byte{1, 2, 3}},
		},
		"rgba": {
			cloud(1, 1, 12, append(f32(1, 2), 3, 2, 1, 255), "x 0 7", "y 4 7", "rgba 8 6"),
			&scene.PointsScene{Total: 1, Count: 1, Box: [4]float64{1, 2, 1, 2}, Places: u16(0, 0), By: "rgb", Colors: []byte{1, 2, 3}},
		},
		"big-endian int16": {big, &scene.PointsScene{Total: 2, Count: 2, Box: [4]float64{-1, 2, 1, 2}, Places: u16(0, 0, 65535, 0)}},
		"float64":          {cloud(1, 1, 16, f64, "x 0 8", "y 8 8"), &scene.PointsScene{Total: 1, Count: 1, Box: [4]float64{5, -5, 5, -5}, Places: u16(0, 0)}},
		"other types": {
			cloud(1, 1, 9, []byte{0xff, 2, 4, 0, 0, 0, 8, 0, 0}, "x 0 1", "y 1 2", "z 2 5", "intensity 6 4"),
			&scene.PointsScene{Total: 1, Count: 1, Box: [4]float64{-1, 2, -1, 2}, Places: u16(0, 0), By: "intensity", From: 8, To: 8, Colors: []byte{0}},
		},
		"rows with padding":            {padded, &scene.PointsScene{Total: 2, Count: 2, Box: [4]float64{1, 2, 3, 4}, Places: u16(0, 0, 65535, 65535)}},
		"one row without its row_step": {noRow, &scene.PointsScene{Total: 2, Count: 2, Box: [4]float64{1, 2, 3, 4}, Places: u16(0, 0, 65535, 65535)}},
		"empty":                        {cloud(0, 1, 8, nil, "x 0 7", "y 4 7"), &scene.PointsScene{Places: []byte{}}},
	} {
		tc.want.Kind = scene.Points
		got, err := of(t, tc.msg)
		if d := diff(any(tc.want), got); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

func TestManyPoints(t *testing.T) {
	t.Parallel()
	m := cloud(50_000, 1, 8, make([]byte, 50_000*8), "x 0 7", "y 4 7")
	got, err := of(t, m)
	s, ok := got.(*scene.PointsScene)
	if err != nil || !ok || s.Total != 50_000 || s.Count != 16_667 || len(s.Places) != 4*s.Count || fmt.Sprint(s.Notes) != "[one of 3 points is shown]" {
		t.Errorf("%d of %d points, notes %q, %v", s.Count, s.Total, s.Notes, err)
	}
}

func TestCloudErrors(t *testing.T) {
	t.Parallel()
	huge := cloud(0xffffffff, 0xffffffff, 0xffffffff, f32(1, 2), "x 0 7", "y 4 7")
	short := cloud(1, 2, 8, f32(1, 2, 3, 4), "x 0 7", "y 4 7")
	short.RowStep = 7
	for text, m := range map[string]sensor_msgs.PointCloud2{
		"field y of a cloud has 4 bytes at 6, and a point has 8":                                           cloud(1, 1, 8, f32(1, 2), "x 0 7", "y 6 7"),
		"field x of a cloud has 8 bytes at 4294967295, and a point has 8":                                  cloud(1, 1, 8, f32(1, 2), "x 4294967295 8", "y 0 7"),
		"field x of a cloud has the unknown type 9":                                                        cloud(1, 1, 8, f32(1, 2), "x 0 9", "y 4 7"),
		"field rgb of a cloud has 1 bytes, not 4":                                                          cloud(1, 1, 9, append(f32(1, 2), 1), "x 0 7", "y 4 7", "rgb 8 2"),
		"cloud without a field y":                                                                          cloud(1, 1, 8, f32(1, 2), "x 0 7"),
		"cloud without a field x":                                                                          cloud(1, 1, 8, f32(1, 2), "z 0 7"),
		"cloud of 2 x 1 points of 8 bytes, rows of 16 bytes, in 8 bytes of data":                           cloud(2, 1, 8, f32(1, 2), "x 0 7", "y 4 7"),
		"cloud of 1 x 2 points of 8 bytes, rows of 7 bytes, in 16 bytes of data":                           short,
		"cloud of 4294967295 x 4294967295 points of 4294967295 bytes, rows of 1 bytes, in 8 bytes of data": huge,
		"cloud of 1 x 4294967295 points of 8 bytes, rows of 8 bytes, in 8 bytes of data":                   cloud(1, 0xffffffff, 8, f32(1, 2), "x 0 7", "y 4 7"),
	} {
		got, err := of(t, m)
		if !errors.Is(err, scene.ErrCorrupt) || err.Error() != text+": damaged message" {
			t.Errorf("%v, %v, want %s", got, err, text)
		}
	}
}

func grid(width, height uint32, resolution float32, data ...int8) nav_msgs.OccupancyGrid {
	return nav_msgs.OccupancyGrid{Info: nav_msgs.MapMetaData{Width: width, Height: height, Resolution: resolution}, Data: data}
}

func TestGrid(t *testing.T) {
	t.Parallel()
	turned := grid(2, 1, 0.5, 0, 0)
	turned.Header.FrameId = "map"
	turned.Info.Origin = geometry_msgs.Pose{Position: geometry_msgs.Point{X: -1, Y: 2}, Orientation: geometry_msgs.Quaternion{Z: math.Sqrt2 / 2, W: math.Sqrt2 / 2}}
	for name, tc := range map[string]struct {
		msg  nav_msgs.OccupancyGrid
		want *scene.GridScene
	}{
		"the first row is the bottom": {grid(2, 2, 1, 0, 100, -1, 50), &scene.GridScene{Width: 2, Height: 2, Resolution: 1, Columns: 2, Rows: 2, Gray: []byte{128, 127, 255, 0}}},
		"turned":                      {turned, &scene.GridScene{Frame: "map", Width: 2, Height: 1, Resolution: 0.5, X: -1, Y: 2, Yaw: math.Pi / 2, Columns: 2, Rows: 1, Gray: []byte{255, 255}}},
		"values that mean nothing":    {grid(2, 1, 1, 101, -128), &scene.GridScene{Width: 2, Height: 1, Resolution: 1, Columns: 2, Rows: 1, Gray: []byte{128, 128}}},
	} {
		tc.want.Kind = scene.Grid
		got, err := of(t, tc.msg)
		if d := diff(any(tc.want), got); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
	big := grid(1025, 3, 1, make([]int8, 1025*3)...)
	big.Data[2*1025+4] = 100 // a wall of one cell is seen
	got, err := of(t, big)
	if s, ok := got.(*scene.GridScene); !ok || s.Columns != 342 || s.Rows != 1 || s.Gray[0] != 255 || s.Gray[1] != 0 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestGridErrors(t *testing.T) {
	t.Parallel()
	for text, m := range map[string]nav_msgs.OccupancyGrid{
		"map of 0 x 5 cells: there is nothing to show":                        grid(0, 5, 1),
		"map of 2 x 2 cells with 3 values: damaged message":                   grid(2, 2, 1, 0, 0, 0),
		"map of 4294967295 x 4294967295 cells with 1 values: damaged message": grid(0xffffffff, 0xffffffff, 1, 0),
		"map with cells of NaN m at 0, 0: damaged message":                    grid(1, 1, nan, 0),
		"map with cells of 0 m at 0, 0: damaged message":                      grid(1, 1, 0, 0),
	} {
		if got, err := of(t, m); err == nil || err.Error() != text {
			t.Errorf("%v, %v, want %s", got, err, text)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	m := nav_msgs.Path{Header: std_msgs.Header{FrameId: "map"}}
	for _, p := range [][2]float64{{1, 2}, {3, 4}, {math.NaN(), 0}, {5, 6}} {
		m.Poses = append(m.Poses, geometry_msgs.PoseStamped{Pose: geometry_msgs.Pose{Position: geometry_msgs.Point{X: p[0], Y: p[1]}}})
	}
	got, err := of(t, m)
	want := &scene.LineScene{Kind: scene.Path, Frame: "map", Total: 3, X: []float64{1, 3, 5}, Y: []float64{2, 4, 6}, Notes: []string{"without numbers: 1 position"}}
	if d := diff(any(want), got); d != "" || err != nil {
		t.Error(err, d)
	}
}

// TestCutPayloads: a payload that ends anywhere is an error, and nothing worse.
func TestCutPayloads(t *testing.T) {
	t.Parallel()
	for _, msg := range []any{
		sensor_msgs.LaserScan{Ranges: []float32{1}, RangeMax: 2},
		cloud(1, 1, 8, f32(1, 2), "x 0 7", "y 4 7"), grid(1, 1, 1, 0),
		nav_msgs.Path{Poses: make([]geometry_msgs.PoseStamped, 1)},
	} {
		typ, full := rosmade.Type(t, msg), rosmade.Payload(t, msg)
		for i := range full {
			if s, err := scene.Of(typ, full[:i:i]); err == nil && !strings.HasSuffix(typ.Name(), "PointCloud2") && !strings.HasSuffix(typ.Name(), "LaserScan") {
				t.Errorf("%s cut at %d: %v", typ.Name(), i, s)
			}
		}
	}
}
