package install_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// service is what the test asks of a service in docker-compose.yml.
type service struct {
	User        string   `yaml:"user"`
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	CapAdd      []string `yaml:"cap_add"`
	SecurityOpt []string `yaml:"security_opt"`
	Privileged  bool     `yaml:"privileged"`
	Network     string   `yaml:"network_mode"`
	PID         string   `yaml:"pid"`
	Devices     []string `yaml:"devices"`
	Ports       []string `yaml:"ports"`
	Volumes     []string `yaml:"volumes"`
	Grace       string   `yaml:"stop_grace_period"`
	Memory      string   `yaml:"mem_limit"`
	Health      *struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
	Environment map[string]string `yaml:"environment"`
}

// TestComposeIsHardened: what runs our programs has no rights that they do not need, and
// nothing that a copy of the file could open to others unseen.
func TestComposeIsHardened(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]service `yaml:"services"`
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"master", "recorder", "player"} {
		s, ok := file.Services[name]
		user, _, _ := strings.Cut(withDefaults(s.User), ":")
		if !ok || user == "" || strings.Trim(user, "0123456789") != "" || strings.Trim(user, "0") == "" {
			t.Errorf("%s: user %q: want a number that is not root's", name, s.User)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s has rights to spare: %+v", name, s)
		}
		if s.Privileged || s.Network != "" || s.PID != "" || len(s.Devices)+len(s.Ports) > 0 {
			t.Errorf("%s is open to the host or to others: %+v", name, s)
		}
	}
	r := file.Services["recorder"]
	if grace, err := time.ParseDuration(r.Grace); err != nil || grace < 10*time.Second {
		t.Errorf("the recorder has %v to close its bag, %v", grace, err)
	}
	if len(r.Volumes) != 1 || withDefaults(r.Volumes[0]) != "bags:/bags" || r.Memory == "" {
		t.Errorf("the recorder may write to %q, and has memory %q", r.Volumes, r.Memory)
	}
	if r.Health == nil || r.Health.Test[0] != "CMD" { // there is no shell
		t.Errorf("health check %+v", r.Health)
	}
	if listen := withDefaults(r.Environment["GORECORD_HTTP"]); !strings.HasPrefix(listen, "127.0.0.1:") {
		t.Errorf("it serves on %q", listen)
	}
}

// withDefaults replaces the variables in a text of docker-compose.yml by their defaults.
func withDefaults(text string) string {
	return regexp.MustCompile(`\$\{[A-Z_]+:-([^}]*)\}`).ReplaceAllString(text, "$1")
}
