package rossrv_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/rossrv"
)

// The md5sums are those of rossrv md5.
func TestParse(t *testing.T) {
	t.Parallel()
	separator := "\n" + strings.Repeat("=", 80) + "\n"
	for name, tt := range map[string]struct{ definition, md5sum string }{
		"std_srvs/Empty":           {"---\n", "d41d8cd98f00b204e9800998ecf8427e"},
		"std_srvs/Trigger":         {"---\nbool success   # indicate successful run of triggered service\nstring message # informational\n", "937c9679a518e3a18d831e57125ea522"},
		"std_srvs/SetBool":         {"bool data # e.g. for hardware enabling / disabling\r\n---\r\nbool success\nstring message\n", "09fb03525b03e7ea1fd3992bafd87e16"},
		"roscpp_tutorials/TwoInts": {"int64 a\nint64 b\n---\nint64 sum\n", "6a2e34150c00229791cc89ff309fff21"},
		"nav_msgs/GetMap":          {"# Get the map as a nav_msgs/OccupancyGrid\n---\nnav_msgs/OccupancyGrid map\n", "6cdd0a18e0aff5b0a3ca2326a89b54ff"},
		"nav_msgs/GetPlan":         {"geometry_msgs/PoseStamped start\ngeometry_msgs/PoseStamped goal\nfloat32 tolerance\n---\nnav_msgs/Path plan\n", "421c8ea4d21c6c9db7054b4bbdf1e024"},
		"controller_msgs/Parts":    {"Part a" + "\n---\n" + "Part b" + separator + "MSG: controller_msgs/Part\nint8 x\n", ""},
	} {
		s, err := rossrv.Parse(name, tt.definition)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if tt.md5sum != "" && s.MD5Sum != tt.md5sum {
			t.Errorf("%s: md5sum %s, want %s", name, s.MD5Sum, tt.md5sum)
		}
		if s.Request.Name() != name+"Request" || s.Response.Name() != name+"Response" || s.Name != name {
			t.Errorf("%s: %s, %s", s.Name, s.Request.Name(), s.Response.Name())
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]error{
		"": rossrv.ErrNoResponse, "int8 a # ---\n": rossrv.ErrNoResponse, "int8\n---\n": rosmsg.ErrDefinition, "---\nPart a\n": rosmsg.ErrDefinition,
	} {
		if _, err := rossrv.Parse("p/S", definition); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", definition, err, want)
		}
	}
}
