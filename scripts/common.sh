# Shared by the scripts of this folder: installs what is missing and says what happens. Source it.

say() { printf '\n== %s\n' "$*"; }

# Installs the Debian packages named, only those that are missing.
need_packages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "Packages: all there"
    return
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      printf 'Missing packages: %s\nInstall them, or run this as root or with sudo.\n' "${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  say "Packages: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# A build that needs much memory a file gets no more jobs than 2 GB each allow.
jobs_for_this_machine() {
  local cores memory_kb
  cores=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  local by_memory=$((memory_kb / 2000000))
  [ "$by_memory" -ge 1 ] || by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}
