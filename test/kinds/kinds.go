// Package kinds makes data of the kinds that robots record, for benchmarks of codecs. The
// same call always makes the same bytes.
package kinds

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// Kind is one kind of data.
type Kind struct {
	Name string
	fill func(b []byte, random *rand.Rand) []byte
}

// All are the kinds, in the order of tables.
var All = []Kind{
	{"camera", camera},
	{"jpeg", jpeg},
	{"pointcloud", pointCloud},
	{"grid", grid},
	{"small", small},
	{"text", text},
}

// Make returns size bytes of the kind.
func (k Kind) Make(size int) []byte {
	b := make([]byte, 0, size+4096)
	random := rand.New(rand.NewPCG(16, 24))
	for len(b) < size {
		b = k.fill(b, random)
	}
	return b[:size:size]
}

const columns = 640 // of images and grids

// camera adds a row of a color image of a smooth scene: the sensor's noise is three bits.
func camera(b []byte, random *rand.Rand) []byte {
	y := float64(len(b) / (3 * columns))
	for x := range columns {
		light := 110 + 60*math.Sin(float64(x)/90)*math.Cos(y/70)
		for _, tint := range [3]float64{1, 0.8, 0.6} {
			b = append(b, byte(light*tint)+byte(random.UintN(8)))
		}
	}
	return b
}

// jpeg adds bytes that no codec packs.
func jpeg(b []byte, random *rand.Rand) []byte {
	return binary.LittleEndian.AppendUint64(b, random.Uint64())
}

// pointCloud adds one point of a lidar with 16 rings: x, y, z and intensity as floats, and
// the ring.
func pointCloud(b []byte, random *rand.Rand) []byte {
	n := len(b) / 20
	ring, azimuth := n%16, float64(n/16)*0.0035
	height := (float64(ring) - 7.5) * 0.035
	reach := 12 + 6*math.Sin(azimuth*3) + 0.02*random.NormFloat64()
	for _, v := range [4]float64{
		reach * math.Cos(azimuth), reach * math.Sin(azimuth), reach * height, float64(random.IntN(100)),
	} {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint32(b, uint32(ring))
}

// grid adds a row of an occupancy grid: rooms of free cells, walls, and what is unknown.
func grid(b []byte, random *rand.Rand) []byte {
	const room, wall, seen = 80, 100, 560
	y := len(b) / columns
	for x := range columns {
		switch {
		case x > seen+random.IntN(4):
			b = append(b, 0xff) // unknown
		case (x%room < 2 || y%room < 2) && (x+y)%room > 12:
			b = append(b, wall)
		default:
			b = append(b, 0)
		}
	}
	return b
}

// small adds one message of one of 24 connections, as it lies in a chunk.
func small(b []byte, random *rand.Rand) []byte {
	conn := random.UintN(24)
	b = append(b, 0x2b, 0, 0, 0)
	b = append(b, "\x04\x00\x00\x00op=\x02\x09\x00\x00\x00conn="...)
	b = binary.LittleEndian.AppendUint32(b, uint32(conn))
	b = append(b, "\x0d\x00\x00\x00time="...)
	b = binary.LittleEndian.AppendUint32(b, 1_600_000_000)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b))*7)
	values := 4 + conn*2
	b = binary.LittleEndian.AppendUint32(b, 28+8*uint32(values))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)/300))
	b = binary.LittleEndian.AppendUint32(b, 1_600_000_000)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b))*7)
	b = append(b, "\x0c\x00\x00\x00base_link_"...)
	b = append(b, byte('0'+conn/10), byte('0'+conn%10))
	for i := range values {
		v := 0.0
		switch i % 3 {
		case 0:
			v = math.Round(1e4*random.NormFloat64()) / 1e4
		case 1:
			v = 0.01 * float64(conn)
		}
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// text adds a line of a log.
func text(b []byte, random *rand.Rand) []byte {
	events := [...]string{
		"controller: loop took %d us, limit %d", "planner: path of %d poses, cost %d", "localization: %d of %d particles resampled",
		"battery: %d mV, %d mA", "costmap: %d obstacles cleared in cell %d", "driver: retry %d of %d",
	}
	b = fmt.Appendf(b, "[ INFO] [16000%05d.%09d] /", len(b)/800, random.IntN(1e9))
	b = fmt.Appendf(b, events[random.IntN(len(events))], random.IntN(5000), random.IntN(5000))
	return append(b, '\n')
}
