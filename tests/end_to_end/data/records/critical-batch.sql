-- thalweg run critical-batch.yaml --backend local
-- commit 133d85fc30eb, 2026-11-27, 26 s on 2 cores of Intel(R) Xeon(R) Processor @ 2.50GHz
-- made by tests/end_to_end/record.py critical-batch
PRAGMA application_id = 1416132455;
PRAGMA user_version = 12;
BEGIN TRANSACTION;
CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  token TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  backend TEXT NOT NULL,
  handle TEXT NOT NULL,
  folder TEXT NOT NULL,
  launched REAL,
  started REAL,
  ended REAL,
  nodes INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  node_list TEXT NOT NULL,
  reason TEXT NOT NULL,
  exit_code INTEGER,
  failed_rank INTEGER,
  failed_node TEXT NOT NULL,
  journal_lines INTEGER NOT NULL,
  clock INTEGER, eligible REAL, size_reason TEXT NOT NULL DEFAULT '',  -- microseconds; the zero of the times in this attempt's metric chunks
  UNIQUE (sweep, trial, attempt),
  FOREIGN KEY (sweep, trial) REFERENCES trial (sweep, trial)
);
INSERT INTO "attempt" VALUES(1,1,1,1,'683fa1fc7db330fa917dd6108d3aee5c','finished','local','local:683fa1fc','/recorded/home/runs/1/1/1',1.79580985495145487788e+09,1.79580985500948143007e+09,1795809863.391,1,1,'vm','',0,NULL,'',145,1795809855000000,NULL,'');
INSERT INTO "attempt" VALUES(2,1,2,1,'7c405d55e09c99aeaed8b92477988790','finished','local','local:7c405d55','/recorded/home/runs/1/2/1',1.79580985495154571538e+09,1.79580985502148151398e+09,1795809861.206,1,1,'vm','',0,NULL,'',150,1795809856000000,NULL,'');
INSERT INTO "attempt" VALUES(3,1,3,1,'936f80903b659c828cd5a3c73d7d71ad','finished','local','local:936f8090','/recorded/home/runs/1/3/1',1.79580986131493020065e+09,1.795809861365481615e+09,1795809866.05,1,1,'vm','',0,NULL,'',152,1795809862000000,NULL,'');
INSERT INTO "attempt" VALUES(4,1,4,1,'47e6f26ab6e7ae3149a1c5edbe8adc45','finished','local','local:47e6f26a','/recorded/home/runs/1/4/1',1.79580986342437195777e+09,1.79580986346148180959e+09,1795809868.039,1,1,'vm','',0,NULL,'',74,1795809865000000,NULL,'');
INSERT INTO "attempt" VALUES(5,1,5,1,'9514a65876c32731ebca8d5fe4329600','finished','local','local:9514a658','/recorded/home/runs/1/5/1',1.79580986630448341369e+09,1.79580986638148188587e+09,1795809869.482,1,1,'vm','',0,NULL,'',65,1795809867000000,NULL,'');
INSERT INTO "attempt" VALUES(6,1,6,1,'f45dc681c9242897987dcf5cae06eaf2','finished','local','local:f45dc681','/recorded/home/runs/1/6/1',1.79580986809438800815e+09,1.79580986812948203089e+09,1795809871.396,1,1,'vm','',0,NULL,'',57,1795809869000000,NULL,'');
INSERT INTO "attempt" VALUES(7,1,7,1,'265fad6e19abc2e1e59ac111c7b0a3cf','finished','local','local:265fad6e','/recorded/home/runs/1/7/1',1.79580986965494728089e+09,1.79580986966948199278e+09,1795809872.406,1,1,'vm','',0,NULL,'',49,1795809870000000,NULL,'');
INSERT INTO "attempt" VALUES(8,1,8,1,'a616ec5b72ef39c764796f7547747f46','finished','local','local:a616ec5b','/recorded/home/runs/1/8/1',1.79580987145699954039e+09,1.79580987148148202899e+09,1795809873.388,1,1,'vm','',0,NULL,'',56,1795809872000000,NULL,'');
INSERT INTO "attempt" VALUES(9,1,9,1,'a246427251392e01b88edf17b8917bac','finished','local','local:a2464272','/recorded/home/runs/1/9/1',1.79580987250712442401e+09,1.7958098725294821262e+09,1795809875.576,1,1,'vm','',0,NULL,'',49,1795809873000000,NULL,'');
INSERT INTO "attempt" VALUES(10,1,10,1,'77bdba2709c345ce41e9608d640fcb1d','finished','local','local:77bdba27','/recorded/home/runs/1/10/1',1.7958098736150066852e+09,1.79580987363748216631e+09,1795809877.315,1,1,'vm','',0,NULL,'',90,1795809876000000,NULL,'');
INSERT INTO "attempt" VALUES(11,1,11,1,'f5caeafbd4237f3dae2ab778c26d30f6','finished','local','local:f5caeafb','/recorded/home/runs/1/11/1',1.79580987567167401318e+09,1.79580987569348216057e+09,1795809878.634,1,1,'vm','',0,NULL,'',90,1795809877000000,NULL,'');
INSERT INTO "attempt" VALUES(12,1,12,1,'8665dda50abfa56d84b04bd7fd2320fd','finished','local','local:8665dda5','/recorded/home/runs/1/12/1',1.79580987752289152146e+09,1.79580987770148229601e+09,1795809881.018,1,1,'vm','',0,NULL,'',61,1795809879000000,NULL,'');
CREATE TABLE attempt_start (
  attempt INTEGER PRIMARY KEY REFERENCES attempt (id) ON DELETE CASCADE,
  record TEXT NOT NULL
, ranks TEXT);
CREATE TABLE event (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  time REAL NOT NULL,
  kind TEXT NOT NULL,
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  data TEXT NOT NULL
);
INSERT INTO "event" VALUES(1,1.79580985493004179e+09,'submitted',1,0,0,'{"backend":"local","directory":"/recorded","keep":{"checkpoints":"all","points":0,"trials":0},"limits":{"max_nodes_in_flight":2,"max_retries":2,"node_hours":0.0},"metric":{"goal":"minimize","name":"val/error","target":0.14},"shapes":[{"count":12,"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}],"slurm":{}}');
INSERT INTO "event" VALUES(2,1.79580985495145487788e+09,'launching',1,1,1,'{"backend":"local","folder":"/recorded/home/runs/1/1/1","nodes":1,"push_secret":"left out 2","ranks":1,"token":"683fa1fc7db330fa917dd6108d3aee5c"}');
INSERT INTO "event" VALUES(3,1.79580985495154571538e+09,'launching',1,2,1,'{"backend":"local","folder":"/recorded/home/runs/1/2/1","nodes":1,"push_secret":"left out 3","ranks":1,"token":"7c405d55e09c99aeaed8b92477988790"}');
INSERT INTO "event" VALUES(4,1.7958098549708633423e+09,'recorded',1,1,1,'{"handle":"local:683fa1fc"}');
INSERT INTO "event" VALUES(5,1.79580985500288677209e+09,'recorded',1,2,1,'{"handle":"local:7c405d55"}');
INSERT INTO "event" VALUES(6,1.79580985501479077344e+09,'released',1,1,1,'{}');
INSERT INTO "event" VALUES(7,1.79580985502339100833e+09,'released',1,2,1,'{}');
INSERT INTO "event" VALUES(8,1.79580985527906084064e+09,'running',1,1,1,'{"node_list":"vm","started":1795809855.0094814}');
INSERT INTO "event" VALUES(9,1.79580985528284835812e+09,'running',1,2,1,'{"node_list":"vm","started":1795809855.0214815}');
INSERT INTO "event" VALUES(10,1.79580986117657661433e+09,'note',1,2,1,'{"level":"info","text":"stopped: val/error 0.1392 reached the target 0.14 at step 3150"}');
INSERT INTO "event" VALUES(11,1.79580986131401562685e+09,'ended',1,2,1,'{"cause":"finished","ended":1795809861.206,"exit_code":0,"node_list":"vm","node_seconds":6.184518575668335,"reason":"","step":3150}');
INSERT INTO "event" VALUES(12,1.79580986131441354752e+09,'trial_ended',1,2,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(13,1.79580986131493020065e+09,'launching',1,3,1,'{"backend":"local","folder":"/recorded/home/runs/1/3/1","nodes":1,"push_secret":"left out 13","ranks":1,"token":"936f80903b659c828cd5a3c73d7d71ad"}');
INSERT INTO "event" VALUES(14,1.79580986135894775388e+09,'recorded',1,3,1,'{"handle":"local:936f8090"}');
INSERT INTO "event" VALUES(15,1.79580986137006878853e+09,'released',1,3,1,'{}');
INSERT INTO "event" VALUES(16,1.79580986162248539927e+09,'running',1,3,1,'{"node_list":"vm","started":1795809861.3654816}');
INSERT INTO "event" VALUES(17,1.79580986333913803095e+09,'note',1,1,1,'{"level":"info","text":"stopped: val/error 0.1394 reached the target 0.14 at step 3050"}');
INSERT INTO "event" VALUES(18,1.79580986341071271897e+09,'ended',1,1,1,'{"cause":"finished","ended":1795809863.391,"exit_code":0,"node_list":"vm","node_seconds":8.381518602371216,"reason":"","step":3050}');
INSERT INTO "event" VALUES(19,1.79580986341924071312e+09,'trial_ended',1,1,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(20,1.79580986342437195777e+09,'launching',1,4,1,'{"backend":"local","folder":"/recorded/home/runs/1/4/1","nodes":1,"push_secret":"left out 20","ranks":1,"token":"47e6f26ab6e7ae3149a1c5edbe8adc45"}');
INSERT INTO "event" VALUES(21,1.7958098634363985061e+09,'recorded',1,4,1,'{"handle":"local:47e6f26a"}');
INSERT INTO "event" VALUES(22,1.79580986344712781907e+09,'released',1,4,1,'{}');
INSERT INTO "event" VALUES(23,1.79580986371505188937e+09,'running',1,4,1,'{"node_list":"vm","started":1795809863.4614818}');
INSERT INTO "event" VALUES(24,1.79580986598114967353e+09,'note',1,3,1,'{"level":"info","text":"stopped: val/error 0.1304 reached the target 0.14 at step 3200"}');
INSERT INTO "event" VALUES(25,1.79580986628657817837e+09,'ended',1,3,1,'{"cause":"finished","ended":1795809866.05,"exit_code":0,"node_list":"vm","node_seconds":4.684518337249756,"reason":"","step":3200}');
INSERT INTO "event" VALUES(26,1.79580986629411506645e+09,'trial_ended',1,3,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(27,1.79580986630448341369e+09,'launching',1,5,1,'{"backend":"local","folder":"/recorded/home/runs/1/5/1","nodes":1,"push_secret":"left out 27","ranks":1,"token":"9514a65876c32731ebca8d5fe4329600"}');
INSERT INTO "event" VALUES(28,1.79580986631898784642e+09,'recorded',1,5,1,'{"handle":"local:9514a658"}');
INSERT INTO "event" VALUES(29,1.79580986632116556167e+09,'released',1,5,1,'{}');
INSERT INTO "event" VALUES(30,1.79580986657367849346e+09,'running',1,5,1,'{"node_list":"vm","started":1795809866.381482}');
INSERT INTO "event" VALUES(31,1.7958098679878160954e+09,'note',1,4,1,'{"level":"info","text":"stopped: val/error 0.1334 reached the target 0.14 at step 1050"}');
INSERT INTO "event" VALUES(32,1.79580986808732295028e+09,'ended',1,4,1,'{"cause":"finished","ended":1795809868.039,"exit_code":0,"node_list":"vm","node_seconds":4.5775182247161865,"reason":"","step":1050}');
INSERT INTO "event" VALUES(33,1.79580986808891296391e+09,'trial_ended',1,4,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(34,1.79580986809438800815e+09,'launching',1,6,1,'{"backend":"local","folder":"/recorded/home/runs/1/6/1","nodes":1,"push_secret":"left out 34","ranks":1,"token":"f45dc681c9242897987dcf5cae06eaf2"}');
INSERT INTO "event" VALUES(35,1.7958098681069011688e+09,'recorded',1,6,1,'{"handle":"local:f45dc681"}');
INSERT INTO "event" VALUES(36,1.7958098681089866162e+09,'released',1,6,1,'{}');
INSERT INTO "event" VALUES(37,1.79580986836602640149e+09,'running',1,6,1,'{"node_list":"vm","started":1795809868.129482}');
INSERT INTO "event" VALUES(38,1.79580986945147705073e+09,'note',1,5,1,'{"level":"info","text":"stopped: val/error 0.1392 reached the target 0.14 at step 900"}');
INSERT INTO "event" VALUES(39,1.79580986964677739143e+09,'ended',1,5,1,'{"cause":"finished","ended":1795809869.482,"exit_code":0,"node_list":"vm","node_seconds":3.100518226623535,"reason":"","step":900}');
INSERT INTO "event" VALUES(40,1.79580986965198183061e+09,'trial_ended',1,5,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(41,1.79580986965494728089e+09,'launching',1,7,1,'{"backend":"local","folder":"/recorded/home/runs/1/7/1","nodes":1,"push_secret":"left out 41","ranks":1,"token":"265fad6e19abc2e1e59ac111c7b0a3cf"}');
INSERT INTO "event" VALUES(42,1795809869.66257,'recorded',1,7,1,'{"handle":"local:265fad6e"}');
INSERT INTO "event" VALUES(43,1.79580986966553759576e+09,'released',1,7,1,'{}');
INSERT INTO "event" VALUES(44,1.79580986993059325221e+09,'running',1,7,1,'{"node_list":"vm","started":1795809869.669482}');
INSERT INTO "event" VALUES(45,1.7958098713539891243e+09,'note',1,6,1,'{"level":"info","text":"stopped: val/error 0.1398 reached the target 0.14 at step 800"}');
INSERT INTO "event" VALUES(46,1.79580987144464159009e+09,'ended',1,6,1,'{"cause":"finished","ended":1795809871.396,"exit_code":0,"node_list":"vm","node_seconds":3.2665178775787354,"reason":"","step":800}');
INSERT INTO "event" VALUES(47,1.795809871448022604e+09,'trial_ended',1,6,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(48,1.79580987145699954039e+09,'launching',1,8,1,'{"backend":"local","folder":"/recorded/home/runs/1/8/1","nodes":1,"push_secret":"left out 48","ranks":1,"token":"a616ec5b72ef39c764796f7547747f46"}');
INSERT INTO "event" VALUES(49,1.79580987147642922403e+09,'recorded',1,8,1,'{"handle":"local:a616ec5b"}');
INSERT INTO "event" VALUES(50,1.79580987148415732387e+09,'released',1,8,1,'{}');
INSERT INTO "event" VALUES(51,1.7958098717390208244e+09,'running',1,8,1,'{"node_list":"vm","started":1795809871.481482}');
INSERT INTO "event" VALUES(52,1.79580987235286593435e+09,'note',1,7,1,'{"level":"info","text":"stopped: val/error 0.133 reached the target 0.14 at step 300"}');
INSERT INTO "event" VALUES(53,1.79580987249490404132e+09,'ended',1,7,1,'{"cause":"finished","ended":1795809872.406,"exit_code":0,"node_list":"vm","node_seconds":2.736517906188965,"reason":"","step":300}');
INSERT INTO "event" VALUES(54,1.79580987250298810004e+09,'trial_ended',1,7,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(55,1.79580987250712442401e+09,'launching',1,9,1,'{"backend":"local","folder":"/recorded/home/runs/1/9/1","nodes":1,"push_secret":"left out 55","ranks":1,"token":"a246427251392e01b88edf17b8917bac"}');
INSERT INTO "event" VALUES(56,1.79580987252265167233e+09,'recorded',1,9,1,'{"handle":"local:a2464272"}');
INSERT INTO "event" VALUES(57,1.79580987253902959826e+09,'released',1,9,1,'{}');
INSERT INTO "event" VALUES(58,1.79580987279329299926e+09,'running',1,9,1,'{"node_list":"vm","started":1795809872.5294821}');
INSERT INTO "event" VALUES(59,1.79580987331559896466e+09,'note',1,8,1,'{"level":"info","text":"stopped: val/error 0.1282 reached the target 0.14 at step 350"}');
INSERT INTO "event" VALUES(60,1.79580987360585761069e+09,'ended',1,8,1,'{"cause":"finished","ended":1795809873.388,"exit_code":0,"node_list":"vm","node_seconds":1.9065179824829102,"reason":"","step":350}');
INSERT INTO "event" VALUES(61,1.79580987361118698123e+09,'trial_ended',1,8,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(62,1.7958098736150066852e+09,'launching',1,10,1,'{"backend":"local","folder":"/recorded/home/runs/1/10/1","nodes":1,"push_secret":"left out 62","ranks":1,"token":"77bdba2709c345ce41e9608d640fcb1d"}');
INSERT INTO "event" VALUES(63,1.7958098736332676411e+09,'recorded',1,10,1,'{"handle":"local:77bdba27"}');
INSERT INTO "event" VALUES(64,1.79580987364249682427e+09,'released',1,10,1,'{}');
INSERT INTO "event" VALUES(65,1.79580987389731025699e+09,'running',1,10,1,'{"node_list":"vm","started":1795809873.6374822}');
INSERT INTO "event" VALUES(66,1.79580987554336118702e+09,'note',1,9,1,'{"level":"info","text":"stopped: val/error 0.1298 reached the target 0.14 at step 300"}');
INSERT INTO "event" VALUES(67,1.79580987566679382326e+09,'ended',1,9,1,'{"cause":"finished","ended":1795809875.576,"exit_code":0,"node_list":"vm","node_seconds":3.046517848968506,"reason":"","step":300}');
INSERT INTO "event" VALUES(68,1.795809875671084404e+09,'trial_ended',1,9,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(69,1.79580987567167401318e+09,'launching',1,11,1,'{"backend":"local","folder":"/recorded/home/runs/1/11/1","nodes":1,"push_secret":"left out 69","ranks":1,"token":"f5caeafbd4237f3dae2ab778c26d30f6"}');
INSERT INTO "event" VALUES(70,1.79580987568015456199e+09,'recorded',1,11,1,'{"handle":"local:f5caeafb"}');
INSERT INTO "event" VALUES(71,1.79580987568749189369e+09,'released',1,11,1,'{}');
INSERT INTO "event" VALUES(72,1.79580987597098660473e+09,'running',1,11,1,'{"node_list":"vm","started":1795809875.6934822}');
INSERT INTO "event" VALUES(73,1.79580987725376844399e+09,'note',1,10,1,'{"level":"info","text":"stopped: val/error 0.1312 reached the target 0.14 at step 150"}');
INSERT INTO "event" VALUES(74,1.7958098774982442856e+09,'ended',1,10,1,'{"cause":"finished","ended":1795809877.315,"exit_code":0,"node_list":"vm","node_seconds":3.677517890930176,"reason":"","step":150}');
INSERT INTO "event" VALUES(75,1.79580987751088285448e+09,'trial_ended',1,10,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(76,1.79580987752289152146e+09,'launching',1,12,1,'{"backend":"local","folder":"/recorded/home/runs/1/12/1","nodes":1,"push_secret":"left out 76","ranks":1,"token":"8665dda50abfa56d84b04bd7fd2320fd"}');
INSERT INTO "event" VALUES(77,1.79580987768289852138e+09,'recorded',1,12,1,'{"handle":"local:8665dda5"}');
INSERT INTO "event" VALUES(78,1.79580987768753480909e+09,'released',1,12,1,'{}');
INSERT INTO "event" VALUES(79,1.79580987794207692148e+09,'running',1,12,1,'{"node_list":"vm","started":1795809877.7014823}');
INSERT INTO "event" VALUES(80,1.79580987859445452689e+09,'note',1,11,1,'{"level":"info","text":"stopped: val/error 0.1346 reached the target 0.14 at step 150"}');
INSERT INTO "event" VALUES(81,1.79580987870546269417e+09,'ended',1,11,1,'{"cause":"finished","ended":1795809878.634,"exit_code":0,"node_list":"vm","node_seconds":2.9405179023742676,"reason":"","step":150}');
INSERT INTO "event" VALUES(82,1.79580987870685625075e+09,'trial_ended',1,11,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(83,1.79580988096753382679e+09,'note',1,12,1,'{"level":"info","text":"stopped: val/error 0.1374 reached the target 0.14 at step 100"}');
INSERT INTO "event" VALUES(84,1.79580988111500716207e+09,'ended',1,12,1,'{"cause":"finished","ended":1795809881.018,"exit_code":0,"node_list":"vm","node_seconds":3.3165175914764404,"reason":"","step":100}');
INSERT INTO "event" VALUES(85,1795809881.11557,'trial_ended',1,12,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(86,1.79580988112294673915e+09,'sweep_ended',1,0,0,'{"state":"finished"}');
CREATE TABLE metric_chunk (
  attempt INTEGER NOT NULL REFERENCES attempt (id),
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  number INTEGER NOT NULL,
  points INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  min REAL,
  max REAL,
  data TEXT NOT NULL,
  UNIQUE (attempt, metric, number)
);
INSERT INTO "metric_chunk" VALUES(1,6,0,61,50,3050,0.1394,0.3326,'[[50,0.3326,994811],[100,0.2514,1123803],[150,0.2252,1230948],[200,0.2066,1350779],[250,0.2126,1478807],[300,0.2236,1602817],[350,0.2106,1703590],[400,0.1946,1813284],[450,0.1866,1936726],[500,0.1852,2060315],[550,0.1964,2202033],[600,0.1882,2306905],[650,0.1802,2403164],[700,0.1834,2543186],[750,0.1806,2671719],[800,0.1812,2783190],[850,0.1672,2900139],[900,0.1704,3024415],[950,0.1732,3152207],[1000,0.1758,3289037],[1050,0.2106,4335415],[1100,0.175,4412131],[1150,0.1656,4498708],[1200,0.1714,4563977],[1250,0.1638,4634791],[1300,0.1668,4759577],[1350,0.1674,4878547],[1400,0.162,5023939],[1450,0.1652,5178820],[1500,0.1658,5366799],[1550,0.1554,5502919],[1600,0.161,5561587],[1650,0.1692,5633281],[1700,0.158,5674488],[1750,0.1574,5726788],[1800,0.1658,5851712],[1850,0.1536,6002788],[1900,0.1538,6189788],[1950,0.1712,6262792],[2000,0.1558,6313030],[2050,0.1622,6371637],[2100,0.148,6422353],[2150,0.1596,6467301],[2200,0.1494,6524056],[2250,0.1538,6715629],[2300,0.1466,6906851],[2350,0.1466,7062800],[2400,0.1452,7111855],[2450,0.1686,7162780],[2500,0.1526,7205076],[2550,0.1658,7286785],[2600,0.1574,7390787],[2650,0.1466,7494776],[2700,0.1454,7602790],[2750,0.1526,7706851],[2800,0.1528,7803814],[2850,0.1494,7911955],[2900,0.1438,8009471],[2950,0.169,8118991],[3000,0.1538,8226717],[3050,0.1394,8337974]]');
INSERT INTO "metric_chunk" VALUES(2,6,0,63,50,3150,0.1392,0.2736,'[[50,0.2736,149099],[100,0.2604,262819],[150,0.235,395797],[200,0.2136,519753],[250,0.198,642689],[300,0.212,759670],[350,0.2016,886616],[400,0.1874,989904],[450,0.1786,1132666],[500,0.1842,1267843],[550,0.1806,1359364],[600,0.187,1491343],[650,0.1728,1607420],[700,0.1782,1736628],[750,0.167,1831998],[800,0.1968,1970320],[850,0.1836,2092547],[900,0.1726,2211634],[950,0.1746,2938347],[1000,0.1772,3321102],[1050,0.1814,3431378],[1100,0.1674,3472711],[1150,0.1606,3518204],[1200,0.1776,3563920],[1250,0.1684,3604803],[1300,0.1664,3652186],[1350,0.163,3689830],[1400,0.1596,3732779],[1450,0.1676,3773652],[1500,0.1482,3815774],[1550,0.1596,3857686],[1600,0.1684,3908536],[1650,0.1494,3953993],[1700,0.1516,3991540],[1750,0.1576,4029342],[1800,0.1514,4071248],[1850,0.1468,4110350],[1900,0.1486,4148300],[1950,0.1588,4186782],[2000,0.1518,4226535],[2050,0.1434,4269775],[2100,0.1568,4314533],[2150,0.1484,4354318],[2200,0.1526,4398512],[2250,0.156,4441999],[2300,0.1548,4482456],[2350,0.1464,4518775],[2400,0.1464,4556802],[2450,0.149,4602858],[2500,0.1608,4646481],[2550,0.1534,4702056],[2600,0.1562,4748586],[2650,0.1406,4789814],[2700,0.148,4830351],[2750,0.1576,4872507],[2800,0.1464,4909845],[2850,0.1408,4950267],[2900,0.152,4987105],[2950,0.1434,5025482],[3000,0.1532,5061910],[3050,0.1442,5100359],[3100,0.1468,5137878],[3150,0.1392,5175441]]');
INSERT INTO "metric_chunk" VALUES(3,6,0,64,50,3200,0.1304,0.2878,'[[50,0.2878,870805],[100,0.2256,971440],[150,0.2166,1078871],[200,0.2082,1196753],[250,0.2152,1303108],[300,0.219,1407971],[350,0.2018,1490140],[400,0.1942,1582798],[450,0.1796,1659304],[500,0.1934,1726919],[550,0.1806,1765468],[600,0.1844,1809512],[650,0.1636,1849601],[700,0.1918,1892911],[750,0.179,1935737],[800,0.1618,1979558],[850,0.1674,2039896],[900,0.168,2086547],[950,0.2092,2128882],[1000,0.1606,2187007],[1050,0.1652,2240607],[1100,0.1632,2289946],[1150,0.1742,2329120],[1200,0.1586,2371541],[1250,0.1684,2408791],[1300,0.1592,2448408],[1350,0.1594,2492673],[1400,0.164,2535416],[1450,0.1536,2574105],[1500,0.1454,2612073],[1550,0.1712,2651543],[1600,0.1526,2692145],[1650,0.1684,2729917],[1700,0.1542,2769556],[1750,0.1524,2809228],[1800,0.1678,2851775],[1850,0.1652,2892204],[1900,0.1536,2932620],[1950,0.1456,2970895],[2000,0.1524,3009030],[2050,0.1694,3048156],[2100,0.1492,3086662],[2150,0.1568,3123776],[2200,0.1458,3161126],[2250,0.1436,3199700],[2300,0.1504,3238205],[2350,0.1452,3275617],[2400,0.1416,3312399],[2450,0.1458,3358652],[2500,0.1512,3401071],[2550,0.1464,3437448],[2600,0.156,3476140],[2650,0.1428,3514254],[2700,0.1446,3551127],[2750,0.1424,3589121],[2800,0.152,3626818],[2850,0.1404,3663946],[2900,0.144,3701571],[2950,0.1486,3737827],[3000,0.1556,3783543],[3050,0.1452,3834623],[3100,0.1454,3892697],[3150,0.1498,3936848],[3200,0.1304,3979322]]');
INSERT INTO "metric_chunk" VALUES(4,6,0,21,50,1050,0.1334,0.2262,'[[50,0.2262,478793],[100,0.1828,672746],[150,0.1928,757456],[200,0.1966,881641],[250,0.1696,982879],[300,0.1656,1067501],[350,0.1604,1234791],[400,0.1724,1401181],[450,0.17,1539971],[500,0.1554,1673628],[550,0.1528,1820656],[600,0.1484,1898532],[650,0.1556,1996407],[700,0.145,2137479],[750,0.1484,2468321],[800,0.1448,2698797],[850,0.1458,2745752],[900,0.1404,2801203],[950,0.1406,2846423],[1000,0.142,2889477],[1050,0.1334,2987242]]');
INSERT INTO "metric_chunk" VALUES(5,6,0,18,50,900,0.1392,0.233,'[[50,0.233,562528],[100,0.1874,829969],[150,0.1728,916402],[200,0.173,1196366],[250,0.178,1256731],[300,0.1616,1326813],[350,0.1566,1462788],[400,0.1704,1587147],[450,0.1604,1630919],[500,0.1484,1674807],[550,0.1564,1717384],[600,0.1472,1762037],[650,0.143,1809172],[700,0.1424,1912755],[750,0.1428,2067270],[800,0.1518,2194791],[850,0.1422,2310793],[900,0.1392,2450802]]');
INSERT INTO "metric_chunk" VALUES(6,6,0,16,50,800,0.1398,0.2104,'[[50,0.2104,345801],[100,0.1986,502796],[150,0.1826,630820],[200,0.1658,728007],[250,0.1656,862050],[300,0.1538,990804],[350,0.1538,1113881],[400,0.154,1254789],[450,0.1746,1382791],[500,0.1446,1520274],[550,0.1512,1648215],[600,0.1426,1783551],[650,0.144,1935242],[700,0.15,2071602],[750,0.15,2212880],[800,0.1398,2352475]]');
INSERT INTO "metric_chunk" VALUES(7,6,0,6,50,300,0.133,0.2006,'[[50,0.2006,978803],[100,0.1656,1267044],[150,0.1578,1540509],[200,0.153,1766812],[250,0.1504,2058793],[300,0.133,2352265]]');
INSERT INTO "metric_chunk" VALUES(8,6,0,7,50,350,0.1282,0.191,'[[50,0.191,699410],[100,0.1608,797713],[150,0.1506,894958],[200,0.1432,999122],[250,0.1446,1115389],[300,0.1406,1216243],[350,0.1282,1315046]]');
INSERT INTO "metric_chunk" VALUES(9,6,0,6,50,300,0.1298,0.1852,'[[50,0.1852,962932],[100,0.159,1338804],[150,0.1518,2056687],[200,0.1516,2228255],[250,0.144,2394874],[300,0.1298,2542781]]');
INSERT INTO "metric_chunk" VALUES(10,6,0,3,50,150,0.1312,0.1638,'[[50,0.1638,392882],[100,0.1468,806811],[150,0.1312,1253061]]');
INSERT INTO "metric_chunk" VALUES(11,6,0,3,50,150,0.1346,0.1626,'[[50,0.1626,673757],[100,0.144,1022535],[150,0.1346,1593825]]');
INSERT INTO "metric_chunk" VALUES(12,6,0,2,50,100,0.1374,0.1584,'[[50,0.1584,1616711],[100,0.1374,1966198]]');
CREATE TABLE metric_latest (
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  value REAL,
  time REAL NOT NULL,
  min REAL,
  max REAL,
  points INTEGER NOT NULL,
  PRIMARY KEY (sweep, trial, metric),
  FOREIGN KEY (sweep, trial) REFERENCES trial (sweep, trial)
) WITHOUT ROWID;
INSERT INTO "metric_latest" VALUES(1,1,6,1,3050,0.1394,1.79580986333797383309e+09,0.1394,0.3326,61);
INSERT INTO "metric_latest" VALUES(1,2,6,1,3150,0.1392,1.79580986117544126514e+09,0.1392,0.2736,63);
INSERT INTO "metric_latest" VALUES(1,3,6,1,3200,0.1304,1.79580986597932219499e+09,0.1304,0.2878,64);
INSERT INTO "metric_latest" VALUES(1,4,6,1,1050,0.1334,1.79580986798724150654e+09,0.1334,0.2262,21);
INSERT INTO "metric_latest" VALUES(1,5,6,1,900,0.1392,1.79580986945080232613e+09,0.1392,0.233,18);
INSERT INTO "metric_latest" VALUES(1,6,6,1,800,0.1398,1.79580987135247516629e+09,0.1398,0.2104,16);
INSERT INTO "metric_latest" VALUES(1,7,6,1,300,0.133,1.79580987235226488115e+09,0.133,0.2006,6);
INSERT INTO "metric_latest" VALUES(1,8,6,1,350,0.1282,1.79580987331504559516e+09,0.1282,0.191,7);
INSERT INTO "metric_latest" VALUES(1,9,6,1,300,0.1298,1.79580987554278135296e+09,0.1298,0.1852,6);
INSERT INTO "metric_latest" VALUES(1,10,6,1,150,0.1312,1.7958098772530612945e+09,0.1312,0.1638,3);
INSERT INTO "metric_latest" VALUES(1,11,6,1,150,0.1346,1.7958098785938253403e+09,0.1346,0.1626,3);
INSERT INTO "metric_latest" VALUES(1,12,6,1,100,0.1374,1.79580988096619749072e+09,0.1374,0.1584,2);
CREATE TABLE metric_name (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
INSERT INTO "metric_name" VALUES(6,'val/error');
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- ids are printed in job names: never use one twice
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  backend TEXT NOT NULL,
  file_name TEXT NOT NULL,
  text TEXT NOT NULL,
  metric TEXT NOT NULL,
  goal TEXT NOT NULL,
  target REAL,
  state TEXT NOT NULL,
  submitted REAL,
  ended REAL,
  notes TEXT NOT NULL
, targets TEXT NOT NULL DEFAULT '[]', tags TEXT NOT NULL DEFAULT '[]', comment TEXT NOT NULL DEFAULT '', archived REAL, configurations_version INTEGER NOT NULL DEFAULT 0);
INSERT INTO "sweep" VALUES(1,'critical-batch','root','local','critical-batch.yaml','# Steps to a target against the batch: how far larger batches still save steps. Each batch at its
# best rate (a power of 2, found before), validation every 50 steps, an end at the target.
name: critical-batch
method: grid
metric: {name: val/error, goal: minimize, target: 0.14}
seeds: 3
zip: [batch.global, optimizer.lr]
parameters:
  batch.global: {values: [16, 64, 256, 1024]}
  optimizer.lr: {values: [0.00390625, 0.015625, 0.0625, 0.125]}
train:
  model: {name: mlp, hidden: [128]}
  data: {name: fashion-mnist, validation: 5000, split: last}
  epochs: 10
  optimizer: {name: momentum, momentum: 0.9}
  eval: {every_steps: 50}
  stop: {at: target}
  noise: {every: 0}
limits: {max_nodes_in_flight: 2}
','val/error','minimize',0.14,'finished',1.79580985493002462383e+09,1.79580988112294673915e+09,'[]','[0.14]','[]','',NULL,1);
CREATE TABLE sweep_environment (
  sweep INTEGER PRIMARY KEY REFERENCES sweep (id) ON DELETE CASCADE,
  entries TEXT NOT NULL
);
CREATE TABLE trial (
  sweep INTEGER NOT NULL REFERENCES sweep (id),
  trial INTEGER NOT NULL,
  configuration INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  hash TEXT NOT NULL,
  state TEXT NOT NULL,
  train TEXT NOT NULL,
  parameters TEXT NOT NULL,
  resources TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  ended REAL,
  reason TEXT NOT NULL,
  UNIQUE (sweep, trial)
);
INSERT INTO "trial" VALUES(1,1,1,1,'43a99442b0d464d49df34b7fa9961448','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.00390625},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":16}}','{"batch.global":16,"optimizer.lr":0.00390625}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580986341924071312e+09,'');
INSERT INTO "trial" VALUES(1,2,1,2,'43a99442b0d464d49df34b7fa9961448','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.00390625},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":16}}','{"batch.global":16,"optimizer.lr":0.00390625}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580986131441354752e+09,'');
INSERT INTO "trial" VALUES(1,3,1,3,'43a99442b0d464d49df34b7fa9961448','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.00390625},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":16}}','{"batch.global":16,"optimizer.lr":0.00390625}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580986629411506645e+09,'');
INSERT INTO "trial" VALUES(1,4,2,1,'69aec0eb8e921db818c8e1f6cfaebbdb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.015625},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":64}}','{"batch.global":64,"optimizer.lr":0.015625}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580986808891296391e+09,'');
INSERT INTO "trial" VALUES(1,5,2,2,'69aec0eb8e921db818c8e1f6cfaebbdb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.015625},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":64}}','{"batch.global":64,"optimizer.lr":0.015625}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580986965198183061e+09,'');
INSERT INTO "trial" VALUES(1,6,2,3,'69aec0eb8e921db818c8e1f6cfaebbdb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.015625},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":64}}','{"batch.global":64,"optimizer.lr":0.015625}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.795809871448022604e+09,'');
INSERT INTO "trial" VALUES(1,7,3,1,'1bcb781e048c14b1d766148a117e8b1c','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.0625},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":256}}','{"batch.global":256,"optimizer.lr":0.0625}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580987250298810004e+09,'');
INSERT INTO "trial" VALUES(1,8,3,2,'1bcb781e048c14b1d766148a117e8b1c','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.0625},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":256}}','{"batch.global":256,"optimizer.lr":0.0625}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580987361118698123e+09,'');
INSERT INTO "trial" VALUES(1,9,3,3,'1bcb781e048c14b1d766148a117e8b1c','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.0625},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":256}}','{"batch.global":256,"optimizer.lr":0.0625}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.795809875671084404e+09,'');
INSERT INTO "trial" VALUES(1,10,4,1,'7980e2167578eb6b0bbb3dfa51b80d0a','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.125},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":1024}}','{"batch.global":1024,"optimizer.lr":0.125}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580987751088285448e+09,'');
INSERT INTO "trial" VALUES(1,11,4,2,'7980e2167578eb6b0bbb3dfa51b80d0a','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.125},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":1024}}','{"batch.global":1024,"optimizer.lr":0.125}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580987870685625075e+09,'');
INSERT INTO "trial" VALUES(1,12,4,3,'7980e2167578eb6b0bbb3dfa51b80d0a','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":10,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.125},"eval":{"every_steps":50},"stop":{"at":"target"},"noise":{"every":0},"batch":{"global":1024}}','{"batch.global":1024,"optimizer.lr":0.125}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1795809881.11557,'');
CREATE UNIQUE INDEX trial_once ON trial (sweep, hash, seed) WHERE hash <> '';
CREATE INDEX event_of ON event (sweep, trial, attempt);
CREATE INDEX trial_state ON trial (sweep, trial, state, configuration, seed);
CREATE VIEW trials AS
SELECT sweep || '.' || trial AS id, sweep, trial, configuration, seed, state, attempts, ended, reason,
       json_extract(resources, '$.nodes') AS nodes, parameters, train, resources
FROM trial;
CREATE VIEW metrics AS
SELECT a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt, n.name AS metric,
       json_extract(p.value, '$[0]') AS step, CAST(json_extract(p.value, '$[1]') AS REAL) AS value,
       (a.clock + json_extract(p.value, '$[2]')) / 1e6 AS time
FROM attempt AS a
JOIN metric_chunk AS c ON c.attempt = a.id
JOIN metric_name AS n ON n.id = c.metric
JOIN json_each(c.data) AS p;
CREATE VIEW latest_metrics AS
SELECT l.sweep AS sweep, l.trial AS trial, n.name AS metric, l.attempt AS attempt, l.step AS step, l.value AS value,
       l.time AS time, l.min AS min, l.max AS max, l.points AS points
FROM metric_latest AS l
JOIN metric_name AS n ON n.id = l.metric;
CREATE VIEW hyperparameters AS
SELECT t.sweep AS sweep, t.trial AS trial, p.key AS name, p.value AS value, 1 AS varied,
       ifnull(json_extract(t.config, '$."' || replace(p.key, '.', '"."') || '"'), p.value) AS resolved
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_each(t.parameters) AS p
UNION ALL
SELECT t.sweep, t.trial, replace(substr(p.fullkey, 3), '"', ''), p.value, 0,
       ifnull(json_extract(t.config, p.fullkey), p.value)
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_tree(t.train) AS p
WHERE p.type <> 'object' AND instr(p.fullkey, '[') = 0
  AND NOT EXISTS (SELECT 1 FROM json_each(t.parameters) AS v
                  WHERE v.key = replace(substr(p.fullkey, 3), '"', ''))
UNION ALL
SELECT t.sweep, t.trial, replace(substr(p.fullkey, 3), '"', ''), NULL, 0, p.value
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_tree(t.config) AS p
WHERE p.type NOT IN ('object', 'null') AND instr(p.fullkey, '[') = 0
  AND json_type(t.train, p.fullkey) IS NULL
  AND NOT EXISTS (SELECT 1 FROM json_each(t.parameters) AS v
                  WHERE v.key = replace(substr(p.fullkey, 3), '"', ''));
CREATE VIEW sweeps AS
SELECT id AS sweep, name, owner, backend, file_name, metric, goal, target, state, submitted, ended, notes, text,
       targets, tags, comment, archived
FROM sweep;
CREATE VIEW ranks AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, c.key AS rank, json_extract(s.record, '$.node_list[' || c.key || ']') AS node,
       json_extract(s.ranks, '$.step') AS step,
       json_extract(s.ranks, '$.data_ms[' || c.key || ']') AS data_ms, c.value AS compute_ms,
       json_extract(s.ranks, '$.comm_exposed_ms[' || c.key || ']') AS comm_exposed_ms,
       json_extract(s.ranks, '$.skew_ms[' || c.key || ']') AS skew_ms,
       json_extract(s.ranks, '$.optimizer_ms[' || c.key || ']') AS optimizer_ms
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt
JOIN json_each(json_extract(s.ranks, '$.compute_ms')) AS c;
CREATE VIEW starts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, json_extract(s.record, '$.version') AS version,
       json_extract(s.record, '$.device') AS device, json_extract(s.record, '$.device_name') AS device_name,
       json_extract(s.record, '$.ranks') AS ranks, json_extract(s.record, '$.threads') AS threads,
       json_extract(s.record, '$.shards') AS shards, json_extract(s.record, '$.parameters') AS parameters,
       json_extract(s.record, '$.flops_per_sample') AS flops_per_sample,
       json_extract(s.record, '$.steps') AS steps, json_extract(s.record, '$.resumed_step') AS resumed_step,
       json_extract(s.record, '$.libraries') AS libraries, json_extract(s.record, '$.config') AS config,
       json_extract(s.record, '$.commit') AS commit_id, json_extract(s.record, '$.transport') AS transport,
       json_extract(s.record, '$.machines') AS machines
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt;
CREATE VIEW attempts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt,
       a.state AS state, a.backend AS backend, a.handle AS handle, a.folder AS folder,
       a.launched AS launched, a.started AS started, a.ended AS ended, a.ended - a.started AS seconds,
       a.nodes * (a.ended - a.started) AS node_seconds,
       a.nodes AS nodes, a.ranks AS ranks, a.node_list AS node_list, a.reason AS reason, a.exit_code AS exit_code,
       a.failed_rank AS failed_rank, a.failed_node AS failed_node,
       a.nodes * ifnull(json_extract(t.resources, '$.gpus_per_node'), 0) * (a.ended - a.started) AS gpu_seconds,
       a.started - a.launched AS queued_seconds, a.eligible AS eligible,
       a.size_reason AS size_reason
FROM attempt AS a JOIN trial AS t ON t.sweep = a.sweep AND t.trial = a.trial;
CREATE VIEW events AS
SELECT number, time, kind, sweep, trial, attempt,
       CASE WHEN kind = 'launching' AND json_valid(data)
            THEN json_remove(data, '$.token', '$.push_secret')
            WHEN kind = 'submitted' AND json_valid(data)
            THEN json_remove(data, '$.owner.grant') ELSE data END AS data
FROM event;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('sweep',1);
INSERT INTO "sqlite_sequence" VALUES('event',86);
COMMIT;
