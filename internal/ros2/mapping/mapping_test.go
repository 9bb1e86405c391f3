package mapping_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

func newMapper(t testing.TB, d mapping.Distro, o mapping.Options) *mapping.Mapper {
	t.Helper()
	m, err := mapping.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func to2(t testing.TB, m *mapping.Mapper, name, definition string) *mapping.To2 {
	t.Helper()
	c, err := m.To2(name, definition)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

func to1(t testing.TB, m *mapping.Mapper, name, schema string) *mapping.To1 {
	t.Helper()
	c, err := m.To1(name, schema)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// stockTo2 is the conversion of a type that ships with noetic.
func stockTo2(t testing.TB, m *mapping.Mapper, name string) *mapping.To2 {
	t.Helper()
	definition, _, ok := noetic.Definition(name)
	if !ok {
		t.Fatalf("no definition of %s", name)
	}
	return to2(t, m, name, definition)
}

// TestHashes compares with hashes that ROS 2 publishes: those of Jazzy in the first part.
func TestHashes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		distro mapping.Distro
		name   string
		want   string
	}{
		{mapping.Jazzy, "std_msgs/String", "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"},
		{mapping.Jazzy, "std_msgs/Header", "f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01"},
		{mapping.Jazzy, "geometry_msgs/TwistStamped", "5f0fcd4f81d5d06ad9b4c4c63e3ea51b82d6ae4d0558f1d475229b1121db6f64"},
		{mapping.Jazzy, "geometry_msgs/PoseStamped", "10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8"},
		{mapping.Jazzy, "sensor_msgs/Imu", "7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b"},
		{mapping.Jazzy, "nav_msgs/Odometry", "3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0"},

		{mapping.Foxy, "nav_msgs/Odometry", "3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0"},
		{mapping.Jazzy, "std_msgs/Time", "b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197"},
		{mapping.Jazzy, "std_msgs/Duration", "e8d009f659816f758b75334ee1a9ca5b5c0b859843261f14c7f937349599d93b"},
		{mapping.Jazzy, "std_msgs/Empty", "20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312"},
		{mapping.Jazzy, "std_msgs/Char", "3ad2d04dd29ba19d04b16659afa3ccaedd691914b02a64e82e252f2fa6a586a9"},
		{mapping.Jazzy, "std_msgs/Byte", "41e1a3345f73fe93ede006da826a6ee274af23dd4653976ff249b0f44e3e798f"},
		{mapping.Jazzy, "sensor_msgs/Image", "d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47"},
		{mapping.Jazzy, "sensor_msgs/CameraInfo", "b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275"},
		{mapping.Jazzy, "sensor_msgs/PointCloud2", "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5"},
		{mapping.Jazzy, "tf/tfMessage", "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"},
		{mapping.Humble, "sensor_msgs/Range", "9430b1915b94d4268ff903679e8ecd09b6a67d331bd028738ec1eeb592891ebd"},
		{mapping.Iron, "sensor_msgs/Range", "b42b62562e93cbfe9d42b82fe5994dfa3d63d7d5c90a317981703f7388adff3a"},
		{mapping.Jazzy, "sensor_msgs/Range", "b42b62562e93cbfe9d42b82fe5994dfa3d63d7d5c90a317981703f7388adff3a"},
	}
	for _, tt := range tests {
		if got := stockTo2(t, newMapper(t, tt.distro, mapping.Options{}), tt.name).Hash; got != "RIHS01_"+tt.want {
			t.Errorf("%s of %s: %s, want %s", tt.name, tt.distro, got, tt.want)
		}
	}
}

// TestAllHashes compares the table with hashes.txt, which was computed from the .msg files
// of ROS 2: the types of common_interfaces, rcl_interfaces, tf2_msgs and of the packages of mapping.apart, each with the
// distribution since which it has a hash.
func TestAllHashes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/hashes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range mapping.Distros() {
		m := newMapper(t, d, mapping.Options{})
		want := make(map[string]string)
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if slices.Index(mapping.Distros(), mapping.Distro(words[1])) <= slices.Index(mapping.Distros(), d) {
				want[words[0]] = words[2]
			}
		}
		for name, hash := range want {
			schema, ok := m.Schema(name)
			if !ok {
				t.Errorf("%s: %s is not in the table", d, name)
				continue
			}
			typ, err := msg.Parse(name, schema, nil)
			if err != nil || typ.Hash() != hash {
				t.Errorf("%s: %s has another hash than %s (%v):\n%s", d, name, hash, err, schema)
			}
		}
		for _, name := range stockTypes(t) {
			typ := stockTo2(t, m, name).Type
			if _, ok := m.Schema(typ); ok && want[typ] == "" && typ != msg.TimeType && typ != msg.DurationType {
				t.Errorf("%s: %s is not in ROS 2", d, typ)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	if _, err := mapping.New("melodic", mapping.Options{}); err == nil || !strings.Contains(err.Error(), "jazzy") {
		t.Errorf("melodic: %v", err)
	}
	for _, rename := range []map[string]string{
		{"a": "b/msg/C"}, {"a/B": "b/C"}, {"a/B": "b/msg/c"}, {"a/B": "B/msg/C"}, {"a/b/C": "b/msg/C"}, {"a/B": "x/msg/Y", "a/C": "x/msg/Y"},
	} {
		if _, err := mapping.New(mapping.Jazzy, mapping.Options{Rename: rename}); err == nil {
			t.Errorf("%v is accepted", rename)
		}
	}
	if got := mapping.Distros(); len(got) != 7 || got[0] != mapping.Foxy {
		t.Errorf("distributions %v", got)
	}
}

const dashes = "================================================================================\n"

// TestCustomTypes checks what a type that no ROS ships is in ROS 2.
func TestCustomTypes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, definition string
		rename           map[string]string
		typ, schema      string
		notes            []string
	}{
		{
			name: "my_msgs/Plain", definition: "Header header\nbyte b\nchar c\ntime t\nduration[] d\nPoint[2] p\n" +
				dashes + "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n" + dashes + "MSG: my_msgs/Point\nfloat64 x\n",
			typ: "my_msgs/msg/Plain", schema: "std_msgs/Header header\nbyte b\nuint8 c\nbuiltin_interfaces/Time t\nbuiltin_interfaces/Duration[] d\nmy_msgs/Point[2] p\n" +
				dashes + "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n" +
				dashes + "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n" +
				dashes + "MSG: builtin_interfaces/Duration\nint32 sec\nuint32 nanosec\n" +
				dashes + "MSG: my_msgs/Point\nfloat64 x\n",
			notes: []string{"std_msgs/Header: field seq is dropped"},
		},
		{
			name: "Rs__lidar_/rslidar_Scan", definition: "int8 T\nint8 t\nint8 a__b\nint8 from_\nint8 frameId\nint8[0] none\n",
			typ: "rs_lidar/msg/RslidarScan", schema: "int8 t\nint8 t_2\nint8 a_b\nint8 from\nint8 frameid\n",
			notes: []string{
				"Rs__lidar_/rslidar_Scan: field T is t", "Rs__lidar_/rslidar_Scan: field a__b is a_b", "Rs__lidar_/rslidar_Scan: field frameId is frameid",
				"Rs__lidar_/rslidar_Scan: field from_ is from", "Rs__lidar_/rslidar_Scan: field t is t_2", "Rs__lidar_/rslidar_Scan: type is rs_lidar/msg/RslidarScan",
			},
		},
		{
			name: "a/C", definition: "byte MINUS=-1\nint8 kMax=3\nint8 KMAX=4\nstring S=hello world\nstring H=a # b\nstring Q=say \"x\"\nbool B=True\nbool N=7\nfloat32 F=1.\nfloat64 I=inf\nchar X=5\nint8 A__B=1\n",
			typ: "a/msg/C", schema: "int8 MINUS=-1\nint8 KMAX=3\nstring S=\"hello world\"\nbool B=True\nbool N=True\nfloat32 F=1.\nuint8 X=5\nint8 A_B=1\n",
			notes: []string{
				"a/C: constant A__B is A_B", "a/C: constant H is dropped", "a/C: constant I is dropped", "a/C: constant KMAX is dropped",
				"a/C: constant Q is dropped", "a/C: constant kMax is KMAX",
			},
		},
		{name: "a/Nothing", definition: "", typ: "a/msg/Nothing", schema: "# no fields\n"},
		{
			name: "livox_ros_driver/CustomMsg", definition: "CustomPoint[] p\n" + dashes + "MSG: livox_ros_driver/CustomPoint\nint8 x\n",
			rename: map[string]string{"livox_ros_driver/CustomMsg": "livox_ros_driver2/msg/CustomMsg", "livox_ros_driver/CustomPoint": "livox_ros_driver2/msg/CustomPoint"},
			typ:    "livox_ros_driver2/msg/CustomMsg", schema: "livox_ros_driver2/CustomPoint[] p\n" + dashes + "MSG: livox_ros_driver2/CustomPoint\nint8 x\n",
			notes: []string{
				"livox_ros_driver/CustomMsg: type is livox_ros_driver2/msg/CustomMsg", "livox_ros_driver/CustomPoint: type is livox_ros_driver2/msg/CustomPoint",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := to2(t, newMapper(t, mapping.Jazzy, mapping.Options{Rename: tt.rename}), tt.name, tt.definition)
			if c.Type != tt.typ {
				t.Errorf("type %s, want %s", c.Type, tt.typ)
			}
			if diff := cmp.Diff(tt.schema, c.Schema); diff != "" {
				t.Errorf("schema: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, lines(c.Notes)); diff != "" {
				t.Errorf("notes: -want +got\n%s", diff)
			}
		})
	}
}

// TestManyNames checks fields that differ in capitals only: each gets a name of its own.
func TestManyNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1 << 14 {
		name := []byte("abcdefghijklmno")
		for bit := range 14 {
			if i&(1<<bit) != 0 {
				name[bit] -= 'a' - 'A'
			}
		}
		b.WriteString("int8 " + string(name) + "\n")
	}
	c := to2(t, newMapper(t, mapping.Jazzy, mapping.Options{}), "a/B", b.String())
	if !strings.HasSuffix(c.Schema, "int8 abcdefghijklmno_16384\n") {
		t.Errorf("the last field is not numbered: %q", c.Schema[len(c.Schema)-40:])
	}
}

func lines(notes []mapping.Note) (all []string) {
	for _, n := range notes {
		all = append(all, n.String())
	}
	slices.Sort(all)
	return all
}
