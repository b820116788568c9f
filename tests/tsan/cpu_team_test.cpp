// Loops on several threads under the thread sanitizer.
#include "../unit/backend/cpu_team_test.cpp"
