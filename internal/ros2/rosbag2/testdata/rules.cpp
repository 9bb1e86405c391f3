// Reads metadata.yaml as releases of ROS 2 do: with yaml-cpp, and the same conversions in the same
// order. Usage: rules humble|iron|jazzy FILE. It prints what it has read, and fails as they do.
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

struct Duration {
  uint64_t sec, nsec;
};

static Duration duration(const YAML::Node &n) { return {n["sec"].as<uint64_t>(), n["nsec"].as<uint64_t>()}; }

// All nine keys are demanded.
static void profile(const YAML::Node &n) {
  std::cout << " " << n["history"].as<int>() << " " << n["depth"].as<int>() << " " << n["reliability"].as<int>() << " "
            << n["durability"].as<int>();
  for (const char *key : {"deadline", "lifespan", "liveliness_lease_duration"}) std::cout << " " << duration(n[key]).nsec;
  std::cout << " " << n["liveliness"].as<int>() << " " << n["avoid_ros_namespace_conventions"].as<bool>();
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const std::string release = argv[1];
  const YAML::Node m = YAML::LoadFile(argv[2])["rosbag2_bagfile_information"];
  const int version = m["version"].as<int>();
  std::cout << m["storage_identifier"].as<std::string>() << " " << m["duration"]["nanoseconds"].as<uint64_t>() << " "
            << m["starting_time"]["nanoseconds_since_epoch"].as<uint64_t>() << " " << m["message_count"].as<uint64_t>() << "\n";
  for (const auto &t : m["topics_with_message_count"]) {
    const YAML::Node topic = t["topic_metadata"];
    std::cout << topic["name"].as<std::string>() << " " << topic["type"].as<std::string>() << " "
              << topic["serialization_format"].as<std::string>() << " " << t["message_count"].as<uint64_t>();
    if (release != "jazzy" || version < 9) { // a text until version 8
      for (const auto &p : YAML::Load(topic["offered_qos_profiles"].as<std::string>())) profile(p);
    } else {
      for (const auto &p : topic["offered_qos_profiles"]) profile(p);
    }
    if (release != "humble" && version >= 7) std::cout << " " << topic["type_description_hash"].as<std::string>();
    std::cout << "\n";
  }
  if (version >= 3) std::cout << "[" << m["compression_format"].as<std::string>() << m["compression_mode"].as<std::string>() << "]\n";
  for (const auto &p : m["relative_file_paths"].as<std::vector<std::string>>()) std::cout << p << "\n";
  if (version >= 5) {
    for (const auto &f : m["files"]) {
      std::cout << f["path"].as<std::string>() << " " << f["starting_time"]["nanoseconds_since_epoch"].as<uint64_t>() << " "
                << f["duration"]["nanoseconds"].as<uint64_t>() << " " << f["message_count"].as<uint64_t>() << "\n";
    }
  }
  if (release != "humble") {
    if (version >= 6 && !m["custom_data"].IsNull()) {
      for (const auto &c : m["custom_data"].as<std::map<std::string, std::string>>()) std::cout << c.first << "=" << c.second << "\n";
    }
    if (version >= 8) std::cout << m["ros_distro"].as<std::string>() << "\n";
  }
  return 0;
}
