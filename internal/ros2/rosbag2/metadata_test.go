package rosbag2_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
)

// humble is what ros2 bag record of humble writes, shortened.
const humble = `rosbag2_bagfile_information:
  version: 5
  storage_identifier: sqlite3
  duration:
    nanoseconds: 4531096768
  starting_time:
    nanoseconds_since_epoch: 1585866235112411371
  message_count: 20
  topics_with_message_count:
    - topic_metadata:
        name: /topic
        type: std_msgs/msg/String
        serialization_format: cdr
        offered_qos_profiles: "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 1\n  deadline:\n    sec: 2147483647\n    nsec: 4294967295\n  lifespan:\n    sec: 2147483647\n    nsec: 4294967295\n  liveliness: 1\n  liveliness_lease_duration:\n    sec: 2147483647\n    nsec: 4294967295\n  avoid_ros_namespace_conventions: false"
      message_count: 20
  compression_format: ""
  compression_mode: ""
  relative_file_paths:
    - talker.db3
  files:
    - path: talker.db3
      starting_time:
        nanoseconds_since_epoch: 1585866235112411371
      duration:
        nanoseconds: 4531096768
      message_count: 20
`

func TestParseMetadata(t *testing.T) {
	t.Parallel()
	md, err := rosbag2.ParseMetadata([]byte(humble))
	if err != nil {
		t.Fatal(err)
	}
	const start, duration = 1585866235112411371, 4531096768
	forever := rosbag2.Span{Sec: 2147483647, Nsec: 4294967295}
	qos := rosbag2.FormatQoS([]rosbag2.Profile{{
		History: rosbag2.HistoryUnknown, Reliability: rosbag2.Reliable, Durability: rosbag2.TransientLocal,
		Deadline: forever, Lifespan: forever, Liveliness: rosbag2.Automatic, Lease: forever,
	}})
	want := &rosbag2.Metadata{
		Version: 5, Storage: rosbag2.SQLite, Start: start, Duration: duration, Messages: 20,
		Topics: []rosbag2.TopicCount{{Messages: 20, Topic: rosbag2.Topic{
			Name: "/topic", Type: "std_msgs/msg/String", Serialization: "cdr", QoS: qos,
		}}},
		Paths: []string{"talker.db3"},
		Files: []rosbag2.File{{Path: "talker.db3", Start: start, Duration: duration, Messages: 20}},
	}
	if diff := cmp.Diff(want, md); diff != "" {
		t.Error(diff)
	}
}

// TestMetadataNames reads version 9, which has profiles as a sequence with names.
func TestMetadataNames(t *testing.T) {
	t.Parallel()
	const text = `
rosbag2_bagfile_information:
  version: 9
  storage_identifier: mcap
  topics_with_message_count:
    - topic_metadata:
        name: /a
        type: a/msg/A
        serialization_format: cdr
        offered_qos_profiles: []
        type_description_hash: RIHS01_00
      message_count: 0
    - topic_metadata:
        name: /b
        type: a/msg/A
        serialization_format: cdr
        offered_qos_profiles:
          - history: keep_last
            depth: 4
            reliability: best_effort
            durability: transient_local
            deadline: {sec: 9223372036, nsec: 854775807}
            lifespan: {sec: 0, nsec: 1}
            liveliness: manual_by_topic
            liveliness_lease_duration: {sec: 0, nsec: 0}
            avoid_ros_namespace_conventions: true
      message_count: 3
  custom_data: {robot: r1, empty: ~}
  ros_distro: jazzy
`
	md, err := rosbag2.ParseMetadata([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := md.Topics[0]; got.QoS != "" || got.Hash != "RIHS01_00" {
		t.Errorf("topic without profiles: %+v", got)
	}
	got, err := rosbag2.ParseQoS(md.Topics[1].QoS)
	if err != nil {
		t.Fatal(err)
	}
	want := []rosbag2.Profile{{
		History: rosbag2.KeepLast, Depth: 4, Reliability: rosbag2.BestEffort, Durability: rosbag2.TransientLocal,
		Deadline: rosbag2.Span{Sec: 9223372036, Nsec: 854775807}, Lifespan: rosbag2.Span{Nsec: 1},
		Liveliness: rosbag2.ManualByTopic, AvoidROSNames: true,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if md.Distro != "jazzy" || md.Custom["robot"] != "r1" {
		t.Errorf("distro %q, custom data %v", md.Distro, md.Custom)
	}
}

func TestMetadataRoundTrip(t *testing.T) {
	t.Parallel()
	all := map[string]rosbag2.Metadata{
		"empty": {Storage: rosbag2.MCAP},
		"full": {
			Storage: rosbag2.SQLite, Start: -5, Duration: 1 << 62, Messages: 7,
			Topics: []rosbag2.TopicCount{
				{Messages: 7, Topic: rosbag2.Topic{Name: "/a: b # c", Type: "a/msg/A", Serialization: "cdr", QoS: "- {history: 1}", Hash: "RIHS01_1"}},
				{Topic: rosbag2.Topic{Name: "/\"\\\t\u2028\U0001f600\x7f'", Type: "x/msg/X", Serialization: "cdr"}},
			},
			Paths: []string{"a_0.db3", "a_1.db3"},
			Files: []rosbag2.File{{Path: "a_0.db3", Start: 1, Duration: 2, Messages: 3}, {Path: "a_1.db3"}},
			Custom: map[string]string{
				"note": "two\nlines", "a: b": "yes",
			},
			Distro: "gobag",
		},
	}
	for name, md := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for form, text := range map[string]string{"text": md.Text(), "inner": md.Inner()} {
				got, err := rosbag2.ParseMetadata([]byte(text))
				if err != nil {
					t.Fatalf("%s: %v\n%s", form, err, text)
				}
				want := md
				want.Version = rosbag2.Version
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("%s: %s", form, diff)
				}
			}
		})
	}
}

func TestMetadataErrors(t *testing.T) {
	t.Parallel()
	const head = "rosbag2_bagfile_information:\n  version: 5\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "is empty"},
		"not YAML":        {"a: [", "not valid YAML"},
		"a list":          {"- a", "line 1: metadata.yaml is not a mapping"},
		"no version":      {"rosbag2_bagfile_information:\n  message_count: 1\n", "line 2: rosbag2_bagfile_information has no version"},
		"bad count":       {head + "  message_count: -1\n", `line 3: message_count is "-1"`},
		"a map for text":  {head + "  storage_identifier: {}\n", "line 3: storage_identifier is a mapping"},
		"topic no type":   {head + "  topics_with_message_count:\n    - topic_metadata: {name: /a}\n", "line 4: topic_metadata has no type"},
		"topics no list":  {head + "  topics_with_message_count: 3\n", "line 3: topics_with_message_count is not a list"},
		"bad QoS":         {head + "  topics_with_message_count:\n    - topic_metadata: {name: /a, type: b, offered_qos_profiles: [{history: 7}]}\n", `topic "/a": line 4: history is "7"`},
		"time not number": {head + "  starting_time: {nanoseconds_since_epoch: now}\n", `line 3: nanoseconds_since_epoch is "now"`},
		"too large":       {strings.Repeat(" ", rosbag2.MaxMetadataBytes+1), "at most 4194304 are read"},
		"alias":           {"a: &a [1]\nrosbag2_bagfile_information: *a\n", "is not a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := rosbag2.ParseMetadata([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want %q", err, c.want)
			}
		})
	}
}

func TestQoS(t *testing.T) {
	t.Parallel()
	latched := rosbag2.Profile{History: rosbag2.KeepLast, Depth: 1, Reliability: rosbag2.Reliable, Durability: rosbag2.TransientLocal, Liveliness: rosbag2.Automatic}
	plain := latched
	plain.Durability = rosbag2.Volatile
	for name, c := range map[string]struct {
		text    string
		want    []rosbag2.Profile
		latched bool
		err     string
	}{
		"nothing":     {text: ""},
		"comment":     {text: "# nothing\n"},
		"no profiles": {text: "[]"},
		"null":        {text: "~"},
		"short":       {text: "- durability: 1", want: []rosbag2.Profile{{Durability: rosbag2.TransientLocal}}, latched: true},
		"names":       {text: "- {history: keep_all, durability: volatile}", want: []rosbag2.Profile{{History: rosbag2.KeepAll, Durability: rosbag2.Volatile}}},
		"two":         {text: rosbag2.FormatQoS([]rosbag2.Profile{plain, latched}), want: []rosbag2.Profile{plain, latched}, latched: true},
		"other name":  {text: "- durability: forever", err: `line 1: durability is "forever"; want one of system_default, transient_local, volatile`},
		"no list":     {text: "durability: 1", err: "line 1: QoS profiles are not a list"},
		"no map":      {text: "- 1", err: "line 1: a QoS profile is not a mapping"},
		"bad span":    {text: "- deadline: 3", err: "line 1: deadline is not a mapping"},
		"bad second":  {text: "- deadline: {sec: -3}", err: `line 1: sec is "-3"`},
		"list value":  {text: "- history: [1]", err: "line 1: history is a list"},
		"too long":    {text: strings.Repeat(" ", rosbag2.MaxQoSBytes+1), err: "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rosbag2.ParseQoS(c.text)
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v; want %q", err, c.err)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if rosbag2.Latched(got) != c.latched {
				t.Errorf("latched: %t", !c.latched)
			}
		})
	}
}

// FuzzMetadata checks that what was read is written so that the same is read again.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(humble))
	f.Add([]byte("version: 3\ncustom_data: {a: b}\nrelative_file_paths: [x/y.db3]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := rosbag2.ParseMetadata(text)
		if err != nil {
			return
		}
		again, err := rosbag2.ParseMetadata([]byte(first.Text()))
		if err != nil {
			t.Fatalf("%v\n%s", err, first.Text())
		}
		if third := again.Text(); third != first.Text() {
			t.Errorf("wrote %s, then %s", first.Text(), third)
		}
	})
}

// FuzzQoS checks the same for profiles.
func FuzzQoS(f *testing.F) {
	f.Add("- history: 1\n  deadline: {sec: 1, nsec: 2}\n")
	f.Add("- {history: keep_last, depth: 3}")
	f.Fuzz(func(t *testing.T, text string) {
		first, err := rosbag2.ParseQoS(text)
		if err != nil {
			return
		}
		again, err := rosbag2.ParseQoS(rosbag2.FormatQoS(first))
		if diff := cmp.Diff(first, again); err != nil || diff != "" && len(first) > 0 {
			t.Errorf("%v %s", err, diff)
		}
	})
}
