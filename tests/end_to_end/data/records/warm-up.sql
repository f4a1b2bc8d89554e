-- thalweg run warm-up.yaml --backend local
-- commit 133d85fc30eb, 2026-11-27, 142 s on 2 cores of Intel(R) Xeon(R) Processor @ 2.50GHz
-- made by tests/end_to_end/record.py warm-up
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
INSERT INTO "attempt" VALUES(1,1,1,1,'3f8ac11233df3d7cf1cac16ced505de5','finished','local','local:3f8ac112','/recorded/home/runs/1/1/1',1.79580995208311510087e+09,1.79580995232548475265e+09,1795809962.099,1,1,'vm','',0,NULL,'',129,1795809954000000,NULL,'');
INSERT INTO "attempt" VALUES(2,1,2,1,'25e23b5ef483b159b0f38fa31b3daa3c','finished','local','local:25e23b5e','/recorded/home/runs/1/2/1',1.79580995208359169958e+09,1.79580995233348488806e+09,1795809960.072,1,1,'vm','',0,NULL,'',129,1795809954000000,NULL,'');
INSERT INTO "attempt" VALUES(3,1,3,1,'b4fd5ebd59994e6ac940657bf6a26c7b','finished','local','local:b4fd5ebd','/recorded/home/runs/1/3/1',1.79580996009519124035e+09,1.79580996012548518188e+09,1795809966.605,1,1,'vm','',0,NULL,'',129,1795809961000000,NULL,'');
INSERT INTO "attempt" VALUES(4,1,4,1,'274c1875d3ae4639e237b279a070a0b7','finished','local','local:274c1875','/recorded/home/runs/1/4/1',1.79580996214719533924e+09,1.79580996216548514367e+09,1795809968.879,1,1,'vm','',0,NULL,'',129,1795809965000000,NULL,'');
INSERT INTO "attempt" VALUES(5,1,5,1,'3bc2f3f6fe1680b73b20cc9c462f8c32','finished','local','local:3bc2f3f6','/recorded/home/runs/1/5/1',1.79580996677681922909e+09,1.79580996683748531344e+09,1795809973.455,1,1,'vm','',0,NULL,'',129,1795809969000000,NULL,'');
INSERT INTO "attempt" VALUES(6,1,6,1,'5d8b6ec34edd33095af3db4ecae79bef','finished','local','local:5d8b6ec3','/recorded/home/runs/1/6/1',1.79580996897114181514e+09,1.79580996899748539926e+09,1795809977.495,1,1,'vm','',0,NULL,'',129,1795809970000000,NULL,'');
INSERT INTO "attempt" VALUES(7,1,7,1,'6c39d586893c452aef267697550c609a','finished','local','local:6c39d586','/recorded/home/runs/1/7/1',1.79580997357562375076e+09,1.79580997360148549076e+09,1795809980.507,1,1,'vm','',0,NULL,'',129,1795809975000000,NULL,'');
INSERT INTO "attempt" VALUES(8,1,8,1,'6d61dd3c53ab814196c4dc03b1885e73','finished','local','local:6d61dd3c','/recorded/home/runs/1/8/1',1.79580997753570795064e+09,1.79580997754948568341e+09,1795809985.53,1,1,'vm','',0,NULL,'',129,1795809979000000,NULL,'');
INSERT INTO "attempt" VALUES(9,1,9,1,'63b173bda41c0c196e82634bcfb34964','finished','local','local:63b173bd','/recorded/home/runs/1/9/1',1.79580998058722400663e+09,1.79580998062548589707e+09,1795809987.523,1,1,'vm','',0,NULL,'',129,1795809982000000,NULL,'');
INSERT INTO "attempt" VALUES(10,1,10,1,'8e00d55f728ecb03875ec263499a93cc','finished','local','local:8e00d55f','/recorded/home/runs/1/10/1',1.79580998568745160105e+09,1.79580998571348595619e+09,1795809995.215,1,1,'vm','',0,NULL,'',129,1795809987000000,NULL,'');
INSERT INTO "attempt" VALUES(11,1,11,1,'a7ca8c67a7b77a3105f28644edafbfab','finished','local','local:a7ca8c67','/recorded/home/runs/1/11/1',1.79580998775991630559e+09,1.79580998777748608585e+09,1795809998.512,1,1,'vm','',0,NULL,'',129,1795809990000000,NULL,'');
INSERT INTO "attempt" VALUES(12,1,12,1,'a997a96df6b01a32d7d29fd34aeafae3','finished','local','local:a997a96d','/recorded/home/runs/1/12/1',1.79580999534512066842e+09,1.79580999535348629953e+09,1795810000.327,1,1,'vm','',0,NULL,'',129,1795809996000000,NULL,'');
INSERT INTO "attempt" VALUES(13,1,13,1,'017f9604af13826e637f1bfb6b24a793','finished','local','local:017f9604','/recorded/home/runs/1/13/1',1.79580999868264174464e+09,1.79580999880148649218e+09,1795810007.801,1,1,'vm','',0,NULL,'',129,1795810000000000,NULL,'');
INSERT INTO "attempt" VALUES(14,1,14,1,'d33ac6c868208ea4edd1f1df82f52e8c','finished','local','local:d33ac6c8','/recorded/home/runs/1/14/1',1.79581000056714677813e+09,1.7958100005734865665e+09,1795810008.008,1,1,'vm','',0,NULL,'',129,1795810001000000,NULL,'');
INSERT INTO "attempt" VALUES(15,1,15,1,'4f6dd688a5994d4ba28ed7fe93ee9b9f','finished','local','local:4f6dd688','/recorded/home/runs/1/15/1',1.79581000789172077177e+09,1.79581000790548682213e+09,1795810013.39,1,1,'vm','',0,NULL,'',129,1795810009000000,NULL,'');
INSERT INTO "attempt" VALUES(16,1,16,1,'fa496a76d42cca4271362abf83ed823d','finished','local','local:fa496a76','/recorded/home/runs/1/16/1',1.79581000815812921525e+09,1.79581000818148684501e+09,1795810017.403,1,1,'vm','',0,NULL,'',152,1795810010000000,NULL,'');
INSERT INTO "attempt" VALUES(17,1,17,1,'562add2cadebd1679a9b709ad31b9514','finished','local','local:562add2c','/recorded/home/runs/1/17/1',1.79581001347371530529e+09,1.79581001351348686218e+09,1795810024.157,1,1,'vm','',0,NULL,'',152,1795810015000000,NULL,'');
INSERT INTO "attempt" VALUES(18,1,18,1,'148ca65a51e9da939b3067fa538fc423','finished','local','local:148ca65a','/recorded/home/runs/1/18/1',1.7958100175997436047e+09,1.7958100176054871082e+09,1795810025.019,1,1,'vm','',0,NULL,'',152,1795810020000000,NULL,'');
INSERT INTO "attempt" VALUES(19,1,19,1,'e09a66bc5745c771df3b909a88ae8c32','finished','local','local:e09a66bc','/recorded/home/runs/1/19/1',1.79581002423920273779e+09,1.79581002425348734861e+09,1795810030.752,1,1,'vm','',0,NULL,'',152,1795810025000000,NULL,'');
INSERT INTO "attempt" VALUES(20,1,20,1,'c0c7ba3f2df3e2b0f2835d7bf612d1e3','finished','local','local:c0c7ba3f','/recorded/home/runs/1/20/1',1.7958100252794733047e+09,1.79581002530148744577e+09,1795810031.915,1,1,'vm','',0,NULL,'',152,1795810027000000,NULL,'');
INSERT INTO "attempt" VALUES(21,1,21,1,'395958f97a78ab90c2afc429c6fc9e47','finished','local','local:395958f9','/recorded/home/runs/1/21/1',1.79581003084402847291e+09,1.79581003086548757555e+09,1795810038.371,1,1,'vm','',0,NULL,'',152,1795810032000000,NULL,'');
INSERT INTO "attempt" VALUES(22,1,22,1,'582c74ace1de3affb9d3644d74511846','finished','local','local:582c74ac','/recorded/home/runs/1/22/1',1.79581003214317846301e+09,1.79581003216148757939e+09,1795810047.885,1,1,'vm','',0,NULL,'',152,1795810034000000,NULL,'');
INSERT INTO "attempt" VALUES(23,1,23,1,'9f238526855e3712b175824035bd5357','finished','local','local:9f238526','/recorded/home/runs/1/23/1',1.79581003848322224613e+09,1.79581003851748776433e+09,1795810055.059,1,1,'vm','',0,NULL,'',152,1795810042000000,NULL,'');
INSERT INTO "attempt" VALUES(24,1,24,1,'fc249f7b9cc9862a7519d1a9459ee4ad','finished','local','local:fc249f7b','/recorded/home/runs/1/24/1',1.7958100481305494309e+09,1.79581004817348814008e+09,1795810066.254,1,1,'vm','',0,NULL,'',152,1795810050000000,NULL,'');
INSERT INTO "attempt" VALUES(25,1,25,1,'cc11ae6270ae19b801dfab00de06ee19','finished','local','local:cc11ae62','/recorded/home/runs/1/25/1',1.7958100552076485157e+09,1.79581005522948837279e+09,1795810067.002,1,1,'vm','',0,NULL,'',152,1795810057000000,NULL,'');
INSERT INTO "attempt" VALUES(26,1,26,1,'2053c2fbcc5a862c1c5c2d5f66d0814f','finished','local','local:2053c2fb','/recorded/home/runs/1/26/1',1.79581006642739200588e+09,1.79581006645748877522e+09,1795810077.239,1,1,'vm','',0,NULL,'',152,1795810068000000,NULL,'');
INSERT INTO "attempt" VALUES(27,1,27,1,'d8a6d6f7a9d519f6196324d6a7be5395','finished','local','local:d8a6d6f7','/recorded/home/runs/1/27/1',1.7958100672684710026e+09,1.79581006729348874092e+09,1795810075.926,1,1,'vm','',0,NULL,'',152,1795810069000000,NULL,'');
INSERT INTO "attempt" VALUES(28,1,28,1,'8a1ecd83d26ee94e55893395024eafc3','finished','local','local:8a1ecd83','/recorded/home/runs/1/28/1',1.79581007612694454195e+09,1.7958100761294891834e+09,1795810084.451,1,1,'vm','',0,NULL,'',152,1795810078000000,NULL,'');
INSERT INTO "attempt" VALUES(29,1,29,1,'38c7cf013ef4c2d759bca8b127196c3e','finished','local','local:38c7cf01','/recorded/home/runs/1/29/1',1.79581007739883065227e+09,1.79581007741348910337e+09,1795810087.13,1,1,'vm','',0,NULL,'',152,1795810079000000,NULL,'');
INSERT INTO "attempt" VALUES(30,1,30,1,'24fa7ace21abaf39a135e14630586369','finished','local','local:24fa7ace','/recorded/home/runs/1/30/1',1.79581008447193741801e+09,1.79581008448948931696e+09,1795810094.003,1,1,'vm','',0,NULL,'',152,1795810086000000,NULL,'');
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
INSERT INTO "event" VALUES(1,1.79580995205628609658e+09,'submitted',1,0,0,'{"backend":"local","directory":"/recorded","keep":{"checkpoints":"all","points":0,"trials":0},"limits":{"max_nodes_in_flight":2,"max_retries":2,"node_hours":0.0},"metric":{"goal":"maximize","name":"val/accuracy"},"shapes":[{"count":30,"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}],"slurm":{}}');
INSERT INTO "event" VALUES(2,1.79580995208311510087e+09,'launching',1,1,1,'{"backend":"local","folder":"/recorded/home/runs/1/1/1","nodes":1,"push_secret":"left out 2","ranks":1,"token":"3f8ac11233df3d7cf1cac16ced505de5"}');
INSERT INTO "event" VALUES(3,1.79580995208359169958e+09,'launching',1,2,1,'{"backend":"local","folder":"/recorded/home/runs/1/2/1","nodes":1,"push_secret":"left out 3","ranks":1,"token":"25e23b5ef483b159b0f38fa31b3daa3c"}');
INSERT INTO "event" VALUES(4,1.79580995222695350647e+09,'recorded',1,1,1,'{"handle":"local:3f8ac112"}');
INSERT INTO "event" VALUES(5,1.79580995223495244977e+09,'recorded',1,2,1,'{"handle":"local:25e23b5e"}');
INSERT INTO "event" VALUES(6,1.79580995231835722925e+09,'released',1,1,1,'{}');
INSERT INTO "event" VALUES(7,1.79580995231975865363e+09,'released',1,2,1,'{}');
INSERT INTO "event" VALUES(8,1.79580995257785630222e+09,'running',1,1,1,'{"node_list":"vm","started":1795809952.3254848}');
INSERT INTO "event" VALUES(9,1.79580995261391234392e+09,'running',1,2,1,'{"node_list":"vm","started":1795809952.333485}');
INSERT INTO "event" VALUES(10,1.79580996008418416979e+09,'ended',1,2,1,'{"cause":"finished","ended":1795809960.072,"exit_code":0,"node_list":"vm","node_seconds":7.738515138626099,"reason":"","step":535}');
INSERT INTO "event" VALUES(11,1.79580996008703732487e+09,'trial_ended',1,2,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(12,1.79580996009519124035e+09,'launching',1,3,1,'{"backend":"local","folder":"/recorded/home/runs/1/3/1","nodes":1,"push_secret":"left out 12","ranks":1,"token":"b4fd5ebd59994e6ac940657bf6a26c7b"}');
INSERT INTO "event" VALUES(13,1.79580996010516619684e+09,'recorded',1,3,1,'{"handle":"local:b4fd5ebd"}');
INSERT INTO "event" VALUES(14,1.79580996011898851396e+09,'released',1,3,1,'{}');
INSERT INTO "event" VALUES(15,1.79580996037145686154e+09,'running',1,3,1,'{"node_list":"vm","started":1795809960.1254852}');
INSERT INTO "event" VALUES(16,1.79580996213704681399e+09,'ended',1,1,1,'{"cause":"finished","ended":1795809962.099,"exit_code":0,"node_list":"vm","node_seconds":9.773515224456787,"reason":"","step":535}');
INSERT INTO "event" VALUES(17,1.79580996213774204258e+09,'trial_ended',1,1,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(18,1.79580996214719533924e+09,'launching',1,4,1,'{"backend":"local","folder":"/recorded/home/runs/1/4/1","nodes":1,"push_secret":"left out 18","ranks":1,"token":"274c1875d3ae4639e237b279a070a0b7"}');
INSERT INTO "event" VALUES(19,1.79580996216329073908e+09,'recorded',1,4,1,'{"handle":"local:274c1875"}');
INSERT INTO "event" VALUES(20,1.7958099621648240089e+09,'released',1,4,1,'{}');
INSERT INTO "event" VALUES(21,1.79580996241680192941e+09,'running',1,4,1,'{"node_list":"vm","started":1795809962.1654851}');
INSERT INTO "event" VALUES(22,1.79580996675825309751e+09,'ended',1,3,1,'{"cause":"finished","ended":1795809966.605,"exit_code":0,"node_list":"vm","node_seconds":6.479514837265015,"reason":"","step":535}');
INSERT INTO "event" VALUES(23,1.79580996676419472695e+09,'trial_ended',1,3,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(24,1.79580996677681922909e+09,'launching',1,5,1,'{"backend":"local","folder":"/recorded/home/runs/1/5/1","nodes":1,"push_secret":"left out 24","ranks":1,"token":"3bc2f3f6fe1680b73b20cc9c462f8c32"}');
INSERT INTO "event" VALUES(25,1.79580996681496238712e+09,'recorded',1,5,1,'{"handle":"local:3bc2f3f6"}');
INSERT INTO "event" VALUES(26,1.79580996682631087307e+09,'released',1,5,1,'{}');
INSERT INTO "event" VALUES(27,1.79580996711101365092e+09,'running',1,5,1,'{"node_list":"vm","started":1795809966.8374853}');
INSERT INTO "event" VALUES(28,1.79580996895796918873e+09,'ended',1,4,1,'{"cause":"finished","ended":1795809968.879,"exit_code":0,"node_list":"vm","node_seconds":6.713514804840088,"reason":"","step":535}');
INSERT INTO "event" VALUES(29,1.79580996895888805389e+09,'trial_ended',1,4,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(30,1.79580996897114181514e+09,'launching',1,6,1,'{"backend":"local","folder":"/recorded/home/runs/1/6/1","nodes":1,"push_secret":"left out 30","ranks":1,"token":"5d8b6ec34edd33095af3db4ecae79bef"}');
INSERT INTO "event" VALUES(31,1.79580996898691892622e+09,'recorded',1,6,1,'{"handle":"local:5d8b6ec3"}');
INSERT INTO "event" VALUES(32,1.79580996899339389799e+09,'released',1,6,1,'{}');
INSERT INTO "event" VALUES(33,1.79580996925083446504e+09,'running',1,6,1,'{"node_list":"vm","started":1795809968.9974854}');
INSERT INTO "event" VALUES(34,1.79580997355773282044e+09,'ended',1,5,1,'{"cause":"finished","ended":1795809973.455,"exit_code":0,"node_list":"vm","node_seconds":6.617514610290527,"reason":"","step":535}');
INSERT INTO "event" VALUES(35,1.79580997357096219064e+09,'trial_ended',1,5,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(36,1.79580997357562375076e+09,'launching',1,7,1,'{"backend":"local","folder":"/recorded/home/runs/1/7/1","nodes":1,"push_secret":"left out 36","ranks":1,"token":"6c39d586893c452aef267697550c609a"}');
INSERT INTO "event" VALUES(37,1.79580997359102201458e+09,'recorded',1,7,1,'{"handle":"local:6c39d586"}');
INSERT INTO "event" VALUES(38,1.79580997360686492924e+09,'released',1,7,1,'{}');
INSERT INTO "event" VALUES(39,1.79580997386794686317e+09,'running',1,7,1,'{"node_list":"vm","started":1795809973.6014855}');
INSERT INTO "event" VALUES(40,1.79580997753225398067e+09,'ended',1,6,1,'{"cause":"finished","ended":1795809977.495,"exit_code":0,"node_list":"vm","node_seconds":8.497514486312866,"reason":"","step":535}');
INSERT INTO "event" VALUES(41,1.79580997753489327427e+09,'trial_ended',1,6,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(42,1.79580997753570795064e+09,'launching',1,8,1,'{"backend":"local","folder":"/recorded/home/runs/1/8/1","nodes":1,"push_secret":"left out 42","ranks":1,"token":"6d61dd3c53ab814196c4dc03b1885e73"}');
INSERT INTO "event" VALUES(43,1.79580997754283285135e+09,'recorded',1,8,1,'{"handle":"local:6d61dd3c"}');
INSERT INTO "event" VALUES(44,1.79580997755453276639e+09,'released',1,8,1,'{}');
INSERT INTO "event" VALUES(45,1.79580997780719828606e+09,'running',1,8,1,'{"node_list":"vm","started":1795809977.5494857}');
INSERT INTO "event" VALUES(46,1.7958099805783593654e+09,'ended',1,7,1,'{"cause":"finished","ended":1795809980.507,"exit_code":0,"node_list":"vm","node_seconds":6.905514478683472,"reason":"","step":535}');
INSERT INTO "event" VALUES(47,1.79580998058067965511e+09,'trial_ended',1,7,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(48,1.79580998058722400663e+09,'launching',1,9,1,'{"backend":"local","folder":"/recorded/home/runs/1/9/1","nodes":1,"push_secret":"left out 48","ranks":1,"token":"63b173bda41c0c196e82634bcfb34964"}');
INSERT INTO "event" VALUES(49,1.79580998060686850546e+09,'recorded',1,9,1,'{"handle":"local:63b173bd"}');
INSERT INTO "event" VALUES(50,1.79580998061579513551e+09,'released',1,9,1,'{}');
INSERT INTO "event" VALUES(51,1.7958099808692586422e+09,'running',1,9,1,'{"node_list":"vm","started":1795809980.625486}');
INSERT INTO "event" VALUES(52,1.79580998565902161595e+09,'ended',1,8,1,'{"cause":"finished","ended":1795809985.53,"exit_code":0,"node_list":"vm","node_seconds":7.980514287948608,"reason":"","step":535}');
INSERT INTO "event" VALUES(53,1.79580998566908097268e+09,'trial_ended',1,8,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(54,1.79580998568745160105e+09,'launching',1,10,1,'{"backend":"local","folder":"/recorded/home/runs/1/10/1","nodes":1,"push_secret":"left out 54","ranks":1,"token":"8e00d55f728ecb03875ec263499a93cc"}');
INSERT INTO "event" VALUES(55,1.79580998571105575562e+09,'recorded',1,10,1,'{"handle":"local:8e00d55f"}');
INSERT INTO "event" VALUES(56,1.79580998571515202517e+09,'released',1,10,1,'{}');
INSERT INTO "event" VALUES(57,1.79580998596668362614e+09,'running',1,10,1,'{"node_list":"vm","started":1795809985.713486}');
INSERT INTO "event" VALUES(58,1.79580998774424886697e+09,'ended',1,9,1,'{"cause":"finished","ended":1795809987.523,"exit_code":0,"node_list":"vm","node_seconds":6.89751410484314,"reason":"","step":535}');
INSERT INTO "event" VALUES(59,1.79580998775913238526e+09,'trial_ended',1,9,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(60,1.79580998775991630559e+09,'launching',1,11,1,'{"backend":"local","folder":"/recorded/home/runs/1/11/1","nodes":1,"push_secret":"left out 60","ranks":1,"token":"a7ca8c67a7b77a3105f28644edafbfab"}');
INSERT INTO "event" VALUES(61,1.79580998776168322562e+09,'recorded',1,11,1,'{"handle":"local:a7ca8c67"}');
INSERT INTO "event" VALUES(62,1.79580998776864624024e+09,'released',1,11,1,'{}');
INSERT INTO "event" VALUES(63,1.79580998801975345608e+09,'running',1,11,1,'{"node_list":"vm","started":1795809987.777486}');
INSERT INTO "event" VALUES(64,1.79580999534365844724e+09,'ended',1,10,1,'{"cause":"finished","ended":1795809995.215,"exit_code":0,"node_list":"vm","node_seconds":9.501513957977295,"reason":"","step":535}');
INSERT INTO "event" VALUES(65,1.79580999534450840948e+09,'trial_ended',1,10,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(66,1.79580999534512066842e+09,'launching',1,12,1,'{"backend":"local","folder":"/recorded/home/runs/1/12/1","nodes":1,"push_secret":"left out 66","ranks":1,"token":"a997a96df6b01a32d7d29fd34aeafae3"}');
INSERT INTO "event" VALUES(67,1.79580999534682965281e+09,'recorded',1,12,1,'{"handle":"local:a997a96d"}');
INSERT INTO "event" VALUES(68,1.79580999535502457619e+09,'released',1,12,1,'{}');
INSERT INTO "event" VALUES(69,1.79580999560621905331e+09,'running',1,12,1,'{"node_list":"vm","started":1795809995.3534863}');
INSERT INTO "event" VALUES(70,1.79580999866319799421e+09,'ended',1,11,1,'{"cause":"finished","ended":1795809998.512,"exit_code":0,"node_list":"vm","node_seconds":10.734513998031616,"reason":"","step":535}');
INSERT INTO "event" VALUES(71,1.79580999868180704115e+09,'trial_ended',1,11,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(72,1.79580999868264174464e+09,'launching',1,13,1,'{"backend":"local","folder":"/recorded/home/runs/1/13/1","nodes":1,"push_secret":"left out 72","ranks":1,"token":"017f9604af13826e637f1bfb6b24a793"}');
INSERT INTO "event" VALUES(73,1.79580999879100537295e+09,'recorded',1,13,1,'{"handle":"local:017f9604"}');
INSERT INTO "event" VALUES(74,1.79580999880290794368e+09,'released',1,13,1,'{}');
INSERT INTO "event" VALUES(75,1.79580999905550742147e+09,'running',1,13,1,'{"node_list":"vm","started":1795809998.8014865}');
INSERT INTO "event" VALUES(76,1.7958100005657470226e+09,'ended',1,12,1,'{"cause":"finished","ended":1795810000.327,"exit_code":0,"node_list":"vm","node_seconds":4.973513603210449,"reason":"","step":535}');
INSERT INTO "event" VALUES(77,1.79581000056648635862e+09,'trial_ended',1,12,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(78,1.79581000056714677813e+09,'launching',1,14,1,'{"backend":"local","folder":"/recorded/home/runs/1/14/1","nodes":1,"push_secret":"left out 78","ranks":1,"token":"d33ac6c868208ea4edd1f1df82f52e8c"}');
INSERT INTO "event" VALUES(79,1.79581000057311868664e+09,'recorded',1,14,1,'{"handle":"local:d33ac6c8"}');
INSERT INTO "event" VALUES(80,1.79581000057436752318e+09,'released',1,14,1,'{}');
INSERT INTO "event" VALUES(81,1.79581000082838034633e+09,'running',1,14,1,'{"node_list":"vm","started":1795810000.5734866}');
INSERT INTO "event" VALUES(82,1.79581000788659167293e+09,'ended',1,13,1,'{"cause":"finished","ended":1795810007.801,"exit_code":0,"node_list":"vm","node_seconds":8.999513626098633,"reason":"","step":535}');
INSERT INTO "event" VALUES(83,1.7958100078911561966e+09,'trial_ended',1,13,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(84,1.79581000789172077177e+09,'launching',1,15,1,'{"backend":"local","folder":"/recorded/home/runs/1/15/1","nodes":1,"push_secret":"left out 84","ranks":1,"token":"4f6dd688a5994d4ba28ed7fe93ee9b9f"}');
INSERT INTO "event" VALUES(85,1.79581000790456295017e+09,'recorded',1,15,1,'{"handle":"local:4f6dd688"}');
INSERT INTO "event" VALUES(86,1.79581000790577554704e+09,'released',1,15,1,'{}');
INSERT INTO "event" VALUES(87,1.79581000815670227999e+09,'ended',1,14,1,'{"cause":"finished","ended":1795810008.008,"exit_code":0,"node_list":"vm","node_seconds":7.434513330459595,"reason":"","step":535}');
INSERT INTO "event" VALUES(88,1.7958100081573419571e+09,'running',1,15,1,'{"node_list":"vm","started":1795810007.9054868}');
INSERT INTO "event" VALUES(89,1.79581000815766787534e+09,'trial_ended',1,14,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(90,1.79581000815812921525e+09,'launching',1,16,1,'{"backend":"local","folder":"/recorded/home/runs/1/16/1","nodes":1,"push_secret":"left out 90","ranks":1,"token":"fa496a76d42cca4271362abf83ed823d"}');
INSERT INTO "event" VALUES(91,1.79581000817143392558e+09,'recorded',1,16,1,'{"handle":"local:fa496a76"}');
INSERT INTO "event" VALUES(92,1.79581000817254257204e+09,'released',1,16,1,'{}');
INSERT INTO "event" VALUES(93,1.795810008423308134e+09,'running',1,16,1,'{"node_list":"vm","started":1795810008.1814868}');
INSERT INTO "event" VALUES(94,1.79581001346407628056e+09,'ended',1,15,1,'{"cause":"finished","ended":1795810013.39,"exit_code":0,"node_list":"vm","node_seconds":5.484513282775879,"reason":"","step":535}');
INSERT INTO "event" VALUES(95,1.79581001346716260906e+09,'trial_ended',1,15,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(96,1.79581001347371530529e+09,'launching',1,17,1,'{"backend":"local","folder":"/recorded/home/runs/1/17/1","nodes":1,"push_secret":"left out 96","ranks":1,"token":"562add2cadebd1679a9b709ad31b9514"}');
INSERT INTO "event" VALUES(97,1795810013.49499,'recorded',1,17,1,'{"handle":"local:562add2c"}');
INSERT INTO "event" VALUES(98,1.79581001351093220716e+09,'released',1,17,1,'{}');
INSERT INTO "event" VALUES(99,1.79581001376605749134e+09,'running',1,17,1,'{"node_list":"vm","started":1795810013.5134869}');
INSERT INTO "event" VALUES(100,1.79581001759795975689e+09,'ended',1,16,1,'{"cause":"finished","ended":1795810017.403,"exit_code":0,"node_list":"vm","node_seconds":9.221513271331787,"reason":"","step":130}');
INSERT INTO "event" VALUES(101,1.79581001759887123108e+09,'trial_ended',1,16,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(102,1.7958100175997436047e+09,'launching',1,18,1,'{"backend":"local","folder":"/recorded/home/runs/1/18/1","nodes":1,"push_secret":"left out 102","ranks":1,"token":"148ca65a51e9da939b3067fa538fc423"}');
INSERT INTO "event" VALUES(103,1.79581001760241436952e+09,'recorded',1,18,1,'{"handle":"local:148ca65a"}');
INSERT INTO "event" VALUES(104,1.79581001760407185556e+09,'released',1,18,1,'{}');
INSERT INTO "event" VALUES(105,1.7958100178555102348e+09,'running',1,18,1,'{"node_list":"vm","started":1795810017.605487}');
INSERT INTO "event" VALUES(106,1.79581002422301316259e+09,'ended',1,17,1,'{"cause":"finished","ended":1795810024.157,"exit_code":0,"node_list":"vm","node_seconds":10.643513202667236,"reason":"","step":130}');
INSERT INTO "event" VALUES(107,1.79581002423235201832e+09,'trial_ended',1,17,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(108,1.79581002423920273779e+09,'launching',1,19,1,'{"backend":"local","folder":"/recorded/home/runs/1/19/1","nodes":1,"push_secret":"left out 108","ranks":1,"token":"e09a66bc5745c771df3b909a88ae8c32"}');
INSERT INTO "event" VALUES(109,1.79581002424454188345e+09,'recorded',1,19,1,'{"handle":"local:e09a66bc"}');
INSERT INTO "event" VALUES(110,1.79581002425760769851e+09,'released',1,19,1,'{}');
INSERT INTO "event" VALUES(111,1.79581002450837326047e+09,'running',1,19,1,'{"node_list":"vm","started":1795810024.2534873}');
INSERT INTO "event" VALUES(112,1.79581002526302957534e+09,'ended',1,18,1,'{"cause":"finished","ended":1795810025.019,"exit_code":0,"node_list":"vm","node_seconds":7.413512945175171,"reason":"","step":130}');
INSERT INTO "event" VALUES(113,1.79581002527499914173e+09,'trial_ended',1,18,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(114,1.7958100252794733047e+09,'launching',1,20,1,'{"backend":"local","folder":"/recorded/home/runs/1/20/1","nodes":1,"push_secret":"left out 114","ranks":1,"token":"c0c7ba3f2df3e2b0f2835d7bf612d1e3"}');
INSERT INTO "event" VALUES(115,1.79581002529497241971e+09,'recorded',1,20,1,'{"handle":"local:c0c7ba3f"}');
INSERT INTO "event" VALUES(116,1.7958100253109743595e+09,'released',1,20,1,'{}');
INSERT INTO "event" VALUES(117,1.79581002556542825695e+09,'running',1,20,1,'{"node_list":"vm","started":1795810025.3014874}');
INSERT INTO "event" VALUES(118,1.79581003084299373629e+09,'ended',1,19,1,'{"cause":"finished","ended":1795810030.752,"exit_code":0,"node_list":"vm","node_seconds":6.4985127449035645,"reason":"","step":130}');
INSERT INTO "event" VALUES(119,1.79581003084353137012e+09,'trial_ended',1,19,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(120,1.79581003084402847291e+09,'launching',1,21,1,'{"backend":"local","folder":"/recorded/home/runs/1/21/1","nodes":1,"push_secret":"left out 120","ranks":1,"token":"395958f97a78ab90c2afc429c6fc9e47"}');
INSERT INTO "event" VALUES(121,1.79581003085895109174e+09,'recorded',1,21,1,'{"handle":"local:395958f9"}');
INSERT INTO "event" VALUES(122,1.79581003087071156497e+09,'released',1,21,1,'{}');
INSERT INTO "event" VALUES(123,1.79581003112951111794e+09,'running',1,21,1,'{"node_list":"vm","started":1795810030.8654876}');
INSERT INTO "event" VALUES(124,1.7958100321337411403e+09,'ended',1,20,1,'{"cause":"finished","ended":1795810031.915,"exit_code":0,"node_list":"vm","node_seconds":6.6135125160217285,"reason":"","step":130}');
INSERT INTO "event" VALUES(125,1.79581003213489699362e+09,'trial_ended',1,20,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(126,1.79581003214317846301e+09,'launching',1,22,1,'{"backend":"local","folder":"/recorded/home/runs/1/22/1","nodes":1,"push_secret":"left out 126","ranks":1,"token":"582c74ace1de3affb9d3644d74511846"}');
INSERT INTO "event" VALUES(127,1.7958100321557962895e+09,'recorded',1,22,1,'{"handle":"local:582c74ac"}');
INSERT INTO "event" VALUES(128,1795810032.16699,'released',1,22,1,'{}');
INSERT INTO "event" VALUES(129,1.79581003241780734055e+09,'running',1,22,1,'{"node_list":"vm","started":1795810032.1614876}');
INSERT INTO "event" VALUES(130,1.79581003846704840665e+09,'ended',1,21,1,'{"cause":"finished","ended":1795810038.371,"exit_code":0,"node_list":"vm","node_seconds":7.505512475967407,"reason":"","step":130}');
INSERT INTO "event" VALUES(131,1.79581003847436928753e+09,'trial_ended',1,21,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(132,1.79581003848322224613e+09,'launching',1,23,1,'{"backend":"local","folder":"/recorded/home/runs/1/23/1","nodes":1,"push_secret":"left out 132","ranks":1,"token":"9f238526855e3712b175824035bd5357"}');
INSERT INTO "event" VALUES(133,1.79581003850033926964e+09,'recorded',1,23,1,'{"handle":"local:9f238526"}');
INSERT INTO "event" VALUES(134,1.79581003850776910776e+09,'released',1,23,1,'{}');
INSERT INTO "event" VALUES(135,1.79581003876095533365e+09,'running',1,23,1,'{"node_list":"vm","started":1795810038.5174878}');
INSERT INTO "event" VALUES(136,1.79581004812353467936e+09,'ended',1,22,1,'{"cause":"finished","ended":1795810047.885,"exit_code":0,"node_list":"vm","node_seconds":15.723512411117554,"reason":"","step":130}');
INSERT INTO "event" VALUES(137,1.79581004812558674816e+09,'trial_ended',1,22,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(138,1.7958100481305494309e+09,'launching',1,24,1,'{"backend":"local","folder":"/recorded/home/runs/1/24/1","nodes":1,"push_secret":"left out 138","ranks":1,"token":"fc249f7b9cc9862a7519d1a9459ee4ad"}');
INSERT INTO "event" VALUES(139,1.79581004815104866025e+09,'recorded',1,24,1,'{"handle":"local:fc249f7b"}');
INSERT INTO "event" VALUES(140,1.79581004816697406773e+09,'released',1,24,1,'{}');
INSERT INTO "event" VALUES(141,1.79581004841796565063e+09,'running',1,24,1,'{"node_list":"vm","started":1795810048.1734881}');
INSERT INTO "event" VALUES(142,1.79581005519485688206e+09,'ended',1,23,1,'{"cause":"finished","ended":1795810055.059,"exit_code":0,"node_list":"vm","node_seconds":16.54151225090027,"reason":"","step":130}');
INSERT INTO "event" VALUES(143,1.79581005520694684989e+09,'trial_ended',1,23,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(144,1.7958100552076485157e+09,'launching',1,25,1,'{"backend":"local","folder":"/recorded/home/runs/1/25/1","nodes":1,"push_secret":"left out 144","ranks":1,"token":"cc11ae6270ae19b801dfab00de06ee19"}');
INSERT INTO "event" VALUES(145,1.79581005522348833083e+09,'recorded',1,25,1,'{"handle":"local:cc11ae62"}');
INSERT INTO "event" VALUES(146,1.7958100552330460548e+09,'released',1,25,1,'{}');
INSERT INTO "event" VALUES(147,1.7958100554933261871e+09,'running',1,25,1,'{"node_list":"vm","started":1795810055.2294884}');
INSERT INTO "event" VALUES(148,1.79581006642620086668e+09,'ended',1,24,1,'{"cause":"finished","ended":1795810066.254,"exit_code":0,"node_list":"vm","node_seconds":18.080511808395386,"reason":"","step":130}');
INSERT INTO "event" VALUES(149,1.79581006642676353456e+09,'trial_ended',1,24,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(150,1.79581006642739200588e+09,'launching',1,26,1,'{"backend":"local","folder":"/recorded/home/runs/1/26/1","nodes":1,"push_secret":"left out 150","ranks":1,"token":"2053c2fbcc5a862c1c5c2d5f66d0814f"}');
INSERT INTO "event" VALUES(151,1.79581006643440842631e+09,'recorded',1,26,1,'{"handle":"local:2053c2fb"}');
INSERT INTO "event" VALUES(152,1.79581006647938013071e+09,'released',1,26,1,'{}');
INSERT INTO "event" VALUES(153,1.79581006674713778499e+09,'running',1,26,1,'{"node_list":"vm","started":1795810066.4574888}');
INSERT INTO "event" VALUES(154,1.79581006726709389688e+09,'ended',1,25,1,'{"cause":"finished","ended":1795810067.002,"exit_code":0,"node_list":"vm","node_seconds":11.772511720657349,"reason":"","step":130}');
INSERT INTO "event" VALUES(155,1.79581006726789259913e+09,'trial_ended',1,25,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(156,1.7958100672684710026e+09,'launching',1,27,1,'{"backend":"local","folder":"/recorded/home/runs/1/27/1","nodes":1,"push_secret":"left out 156","ranks":1,"token":"d8a6d6f7a9d519f6196324d6a7be5395"}');
INSERT INTO "event" VALUES(157,1.79581006727137327191e+09,'recorded',1,27,1,'{"handle":"local:d8a6d6f7"}');
INSERT INTO "event" VALUES(158,1795810067.27568,'released',1,27,1,'{}');
INSERT INTO "event" VALUES(159,1.79581006752882647511e+09,'running',1,27,1,'{"node_list":"vm","started":1795810067.2934887}');
INSERT INTO "event" VALUES(160,1.79581007612347149848e+09,'ended',1,27,1,'{"cause":"finished","ended":1795810075.926,"exit_code":0,"node_list":"vm","node_seconds":8.632511377334595,"reason":"","step":130}');
INSERT INTO "event" VALUES(161,1.79581007612501955027e+09,'trial_ended',1,27,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(162,1.79581007612694454195e+09,'launching',1,28,1,'{"backend":"local","folder":"/recorded/home/runs/1/28/1","nodes":1,"push_secret":"left out 162","ranks":1,"token":"8a1ecd83d26ee94e55893395024eafc3"}');
INSERT INTO "event" VALUES(163,1.79581007612861394883e+09,'recorded',1,28,1,'{"handle":"local:8a1ecd83"}');
INSERT INTO "event" VALUES(164,1.79581007613087320325e+09,'released',1,28,1,'{}');
INSERT INTO "event" VALUES(165,1.79581007638333535201e+09,'running',1,28,1,'{"node_list":"vm","started":1795810076.1294892}');
INSERT INTO "event" VALUES(166,1.79581007739374279982e+09,'ended',1,26,1,'{"cause":"finished","ended":1795810077.239,"exit_code":0,"node_list":"vm","node_seconds":10.781511306762695,"reason":"","step":130}');
INSERT INTO "event" VALUES(167,1.79581007739442443846e+09,'trial_ended',1,26,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(168,1.79581007739883065227e+09,'launching',1,29,1,'{"backend":"local","folder":"/recorded/home/runs/1/29/1","nodes":1,"push_secret":"left out 168","ranks":1,"token":"38c7cf013ef4c2d759bca8b127196c3e"}');
INSERT INTO "event" VALUES(169,1.7958100774009053707e+09,'recorded',1,29,1,'{"handle":"local:38c7cf01"}');
INSERT INTO "event" VALUES(170,1.79581007741883802407e+09,'released',1,29,1,'{}');
INSERT INTO "event" VALUES(171,1.79581007766964626309e+09,'running',1,29,1,'{"node_list":"vm","started":1795810077.413489}');
INSERT INTO "event" VALUES(172,1.79581008447061181063e+09,'ended',1,28,1,'{"cause":"finished","ended":1795810084.451,"exit_code":0,"node_list":"vm","node_seconds":8.321510791778564,"reason":"","step":130}');
INSERT INTO "event" VALUES(173,1.795810084471395731e+09,'trial_ended',1,28,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(174,1.79581008447193741801e+09,'launching',1,30,1,'{"backend":"local","folder":"/recorded/home/runs/1/30/1","nodes":1,"push_secret":"left out 174","ranks":1,"token":"24fa7ace21abaf39a135e14630586369"}');
INSERT INTO "event" VALUES(175,1.79581008447802472119e+09,'recorded',1,30,1,'{"handle":"local:24fa7ace"}');
INSERT INTO "event" VALUES(176,1.79581008448381543155e+09,'released',1,30,1,'{}');
INSERT INTO "event" VALUES(177,1.79581008473482465741e+09,'running',1,30,1,'{"node_list":"vm","started":1795810084.4894893}');
INSERT INTO "event" VALUES(178,1.79581008724752306943e+09,'ended',1,29,1,'{"cause":"finished","ended":1795810087.13,"exit_code":0,"node_list":"vm","node_seconds":9.716511011123657,"reason":"","step":130}');
INSERT INTO "event" VALUES(179,1.79581008724823379518e+09,'trial_ended',1,29,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(180,1795810094.15995,'ended',1,30,1,'{"cause":"finished","ended":1795810094.003,"exit_code":0,"node_list":"vm","node_seconds":9.513510704040527,"reason":"","step":130}');
INSERT INTO "event" VALUES(181,1.79581009416692280768e+09,'trial_ended',1,30,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(182,1.79581009417491555216e+09,'sweep_ended',1,0,0,'{"state":"finished"}');
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
INSERT INTO "metric_chunk" VALUES(2,17,0,5,107,535,0.8302,8.61399999999999943511e-01,'[[107,0.8302,1393248],[214,0.8506,2376191],[321,0.8562,3633628],[428,0.8593999999999999,5450826],[535,0.8613999999999999,6032124]]');
INSERT INTO "metric_chunk" VALUES(1,17,0,5,107,535,0.8314,0.8582,'[[107,0.8314,2327818],[214,0.8473999999999999,3991633],[321,0.8533999999999999,5426895],[428,0.8582,6677081],[535,0.8576,8031228]]');
INSERT INTO "metric_chunk" VALUES(3,17,0,5,107,535,0.8368,0.8628,'[[107,0.8368,2117692],[214,0.8564,2661608],[321,0.8592,3382187],[428,0.8622,4097327],[535,0.8628,5539694]]');
INSERT INTO "metric_chunk" VALUES(4,17,0,5,107,535,0.8498,0.873,'[[107,0.8498,1218315],[214,0.8586,2008158],[321,0.8716,2600656],[428,0.8724000000000001,3231977],[535,0.873,3826809]]');
INSERT INTO "metric_chunk" VALUES(5,17,0,5,107,535,0.848,0.8768,'[[107,0.848,777844],[214,0.8592,1928934],[321,0.871,2574640],[428,0.8752,3375129],[535,0.8768,4415330]]');
INSERT INTO "metric_chunk" VALUES(6,17,0,5,107,535,0.85,0.878,'[[107,0.85,1870783],[214,0.865,3477161],[321,0.873,4478826],[428,0.878,5883967],[535,0.8774,7442881]]');
INSERT INTO "metric_chunk" VALUES(7,17,0,5,107,535,0.8498,0.8774,'[[107,0.8498,853031],[214,0.8608,1395882],[321,0.865,2949542],[428,0.8774,4542849],[535,0.8772,5478822]]');
INSERT INTO "metric_chunk" VALUES(8,17,0,5,107,535,0.8448,0.882,'[[107,0.8448,1099049],[214,0.8646,2826802],[321,0.8746,4265041],[428,0.8818,5159372],[535,0.882,6422814]]');
INSERT INTO "metric_chunk" VALUES(9,17,0,5,107,535,0.8404,0.8742,'[[107,0.8404,2049914],[214,0.855,3158807],[321,0.8626,3942843],[428,0.8742,4646825],[535,0.8742,5468927]]');
INSERT INTO "metric_chunk" VALUES(10,17,0,5,107,535,0.8132,0.8872,'[[107,0.8132,2392437],[214,0.8524,3838998],[321,0.8758,5296217],[428,0.8826,7596533],[535,0.8872,8184435]]');
INSERT INTO "metric_chunk" VALUES(11,17,0,5,107,535,0.837,0.8846,'[[107,0.837,1765107],[214,0.8642,3438808],[321,0.8766,4515331],[428,0.8846,6510900],[535,0.8844,8420991]]');
INSERT INTO "metric_chunk" VALUES(12,17,0,5,107,535,0.834,8.83599999999999941024e-01,'[[107,0.834,1582038],[214,0.866,2210821],[321,0.875,2842849],[428,0.8835999999999999,3536883],[535,0.8835999999999999,4246819]]');
INSERT INTO "metric_chunk" VALUES(13,17,0,5,107,535,8.33199999999999940669e-01,0.8842,'[[107,0.8331999999999999,2093287],[214,0.8656,3554816],[321,0.877,4672815],[428,0.8842,6066822],[535,0.8838,7746690]]');
INSERT INTO "metric_chunk" VALUES(14,17,0,5,107,535,0.8318,0.8862,'[[107,0.8318,2214102],[214,0.8586,3643346],[321,0.8786,4971074],[428,0.8862,6047143],[535,0.8862,6938636]]');
INSERT INTO "metric_chunk" VALUES(15,17,0,5,107,535,0.8358,0.8858,'[[107,0.8358,1057734],[214,0.8646,2575446],[321,0.8702,3179031],[428,0.8858,3752396],[535,0.8838,4322420]]');
INSERT INTO "metric_chunk" VALUES(16,17,0,5,26,130,7.77600000000000068922e-01,0.8228,'[[26,0.7776000000000001,1410814],[52,0.8116,3540851],[78,0.8192,4403569],[104,0.821,5824393],[130,0.8228,7326518]]');
INSERT INTO "metric_chunk" VALUES(17,17,0,5,26,130,0.7812,0.8222,'[[26,0.7812,1931461],[52,0.8148,4331230],[78,0.8184,6170299],[104,0.8222,7957487],[130,0.8218,9106824]]');
INSERT INTO "metric_chunk" VALUES(18,17,0,5,26,130,0.785,0.8306,'[[26,0.785,1481104],[52,0.8172,2386829],[78,0.825,3066457],[104,0.8306,4086831],[130,0.8298,4967083]]');
INSERT INTO "metric_chunk" VALUES(19,17,0,5,26,130,0.7982,0.8548,'[[26,0.7982,1670306],[52,0.8346,2306708],[78,0.8473999999999999,3314832],[104,0.854,4635866],[130,0.8548,5714822]]');
INSERT INTO "metric_chunk" VALUES(20,17,0,5,26,130,0.8102,0.8578,'[[26,0.8102,1442829],[52,0.8394,2309549],[78,0.8473999999999999,3128147],[104,0.8578,3954051],[130,0.8576,4853509]]');
INSERT INTO "metric_chunk" VALUES(21,17,0,5,26,130,8.06999999999999939603e-01,0.8604,'[[26,0.8069999999999999,1997515],[52,0.8444,3110185],[78,0.8553999999999999,3958872],[104,0.8604,5043288],[130,0.8593999999999999,6331368]]');
INSERT INTO "metric_chunk" VALUES(22,17,0,5,26,130,0.519,0.731,'[[26,0.519,2628432],[52,0.5782,6285227],[78,0.6978,10138853],[104,0.7286,12216799],[130,0.731,13839438]]');
INSERT INTO "metric_chunk" VALUES(23,17,0,5,26,130,0.655,0.7956,'[[26,0.655,2652127],[52,0.7318,4827428],[78,0.7556,7642696],[104,0.7904,10382862],[130,0.7956,12987820]]');
INSERT INTO "metric_chunk" VALUES(24,17,0,5,26,130,5.20799999999999929656e-01,0.5392,'[[26,0.5392,3054858],[52,0.5207999999999999,5600648],[78,0.5236000000000001,8424250],[104,0.5276000000000001,10851605],[130,0.5316000000000001,16162934]]');
INSERT INTO "metric_chunk" VALUES(25,17,0,5,26,130,0.6866,0.8428,'[[26,0.6866,1359680],[52,0.794,2906161],[78,0.8064,4478852],[104,0.8382000000000001,6391862],[130,0.8428,9934157]]');
INSERT INTO "metric_chunk" VALUES(26,17,0,5,26,130,7.03000000000000069277e-01,8.42200000000000059685e-01,'[[26,0.7030000000000001,1766853],[52,0.7874,3451853],[78,0.8228,5452076],[104,0.8392,7330032],[130,0.8422000000000001,9170821]]');
INSERT INTO "metric_chunk" VALUES(27,17,0,5,26,130,0.6272,0.7834,'[[26,0.669,1872118],[52,0.7736000000000001,2986819],[78,0.6272,3838835],[104,0.7412000000000001,5426862],[130,0.7834,6887173]]');
INSERT INTO "metric_chunk" VALUES(28,17,0,5,26,130,7.37200000000000077449e-01,0.8648,'[[26,0.7372000000000001,1614864],[52,0.8282,2932094],[78,0.8344,4331153],[104,0.8593999999999999,5408723],[130,0.8648,6381348]]');
INSERT INTO "metric_chunk" VALUES(29,17,0,5,26,130,0.7578,0.8638,'[[26,0.7578,1754960],[52,0.8296,3687073],[78,0.8476,5303302],[104,0.8592,6744936],[130,0.8638,8076109]]');
INSERT INTO "metric_chunk" VALUES(30,17,0,5,26,130,0.7296,0.8648,'[[26,0.7296,1917893],[52,0.8222,3608788],[78,0.852,5108366],[104,0.8582,6834825],[130,0.8648,7934837]]');
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
INSERT INTO "metric_latest" VALUES(1,1,17,1,535,0.8576,1.79580996203122806543e+09,0.8314,0.8582,5);
INSERT INTO "metric_latest" VALUES(1,2,17,1,535,8.61399999999999943511e-01,1.79580996003212404249e+09,0.8302,8.61399999999999943511e-01,5);
INSERT INTO "metric_latest" VALUES(1,3,17,1,535,0.8628,1.79580996653969430926e+09,0.8368,0.8628,5);
INSERT INTO "metric_latest" VALUES(1,4,17,1,535,0.873,1.79580996882680892943e+09,0.8498,0.873,5);
INSERT INTO "metric_latest" VALUES(1,5,17,1,535,0.8768,1795809973.41533,0.848,0.8768,5);
INSERT INTO "metric_latest" VALUES(1,6,17,1,535,0.8774,1.7958099774428806305e+09,0.85,0.878,5);
INSERT INTO "metric_latest" VALUES(1,7,17,1,535,0.8772,1.795809980478821516e+09,0.8498,0.8774,5);
INSERT INTO "metric_latest" VALUES(1,8,17,1,535,0.882,1.79580998542281436922e+09,0.8448,0.882,5);
INSERT INTO "metric_latest" VALUES(1,9,17,1,535,0.8742,1.79580998746892690656e+09,0.8404,0.8742,5);
INSERT INTO "metric_latest" VALUES(1,10,17,1,535,0.8872,1.79580999518443489067e+09,0.8132,0.8872,5);
INSERT INTO "metric_latest" VALUES(1,11,17,1,535,0.8844,1.79580999842099094392e+09,0.837,0.8846,5);
INSERT INTO "metric_latest" VALUES(1,12,17,1,535,8.83599999999999941024e-01,1.79581000024681854253e+09,0.834,8.83599999999999941024e-01,5);
INSERT INTO "metric_latest" VALUES(1,13,17,1,535,0.8838,1.79581000774669027331e+09,8.33199999999999940669e-01,0.8842,5);
INSERT INTO "metric_latest" VALUES(1,14,17,1,535,0.8862,1.79581000793863558768e+09,0.8318,0.8862,5);
INSERT INTO "metric_latest" VALUES(1,15,17,1,535,0.8838,1.79581001332242012023e+09,0.8358,0.8858,5);
INSERT INTO "metric_latest" VALUES(1,16,17,1,130,0.8228,1.7958100173265175819e+09,7.77600000000000068922e-01,0.8228,5);
INSERT INTO "metric_latest" VALUES(1,17,17,1,130,0.8218,1.79581002410682368276e+09,0.7812,0.8222,5);
INSERT INTO "metric_latest" VALUES(1,18,17,1,130,0.8298,1.79581002496708273885e+09,0.785,0.8306,5);
INSERT INTO "metric_latest" VALUES(1,19,17,1,130,0.8548,1.79581003071482181551e+09,0.7982,0.8548,5);
INSERT INTO "metric_latest" VALUES(1,20,17,1,130,0.8576,1.79581003185350894925e+09,0.8102,0.8578,5);
INSERT INTO "metric_latest" VALUES(1,21,17,1,130,8.59399999999999941735e-01,1.79581003833136820793e+09,8.06999999999999939603e-01,0.8604,5);
INSERT INTO "metric_latest" VALUES(1,22,17,1,130,0.731,1.79581004783943772311e+09,0.519,0.731,5);
INSERT INTO "metric_latest" VALUES(1,23,17,1,130,0.7956,1.79581005498781943324e+09,0.655,0.7956,5);
INSERT INTO "metric_latest" VALUES(1,24,17,1,130,5.31600000000000072475e-01,1.79581006616293358804e+09,5.20799999999999929656e-01,0.5392,5);
INSERT INTO "metric_latest" VALUES(1,25,17,1,130,0.8428,1.7958100669341566563e+09,0.6866,0.8428,5);
INSERT INTO "metric_latest" VALUES(1,26,17,1,130,8.42200000000000059685e-01,1.79581007717082071308e+09,7.03000000000000069277e-01,8.42200000000000059685e-01,5);
INSERT INTO "metric_latest" VALUES(1,27,17,1,130,0.7834,1.7958100758871724605e+09,0.6272,0.7834,5);
INSERT INTO "metric_latest" VALUES(1,28,17,1,130,0.8648,1.79581008438134837154e+09,7.37200000000000077449e-01,0.8648,5);
INSERT INTO "metric_latest" VALUES(1,29,17,1,130,0.8638,1.7958100870761091709e+09,0.7578,0.8638,5);
INSERT INTO "metric_latest" VALUES(1,30,17,1,130,0.8648,1.79581009393483662607e+09,0.7296,0.8648,5);
CREATE TABLE metric_name (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
INSERT INTO "metric_name" VALUES(17,'val/accuracy');
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
INSERT INTO "sweep" VALUES(1,'warm-up','root','local','warm-up.yaml','# Batches 8 and 32 times as large as the one that the rate was tuned for: the rate as it was, times the square root of
# that, times 8 or 32, the same after a warm-up over one epoch (Goyal et al., arXiv:1706.02677), and that with LARC (You
# et al., arXiv:1708.03888). `scaling: auto` is linear up to 16 times the batch, then the square root.
name: warm-up
method: grid
metric: {name: val/accuracy, goal: maximize}
seeds: 3
parameters:
  batch.global: {values: [512, 2048]}
  schedule.scaling: {values: [none, sqrt, linear, linear, linear]}
  schedule.warmup: {values: [none, none, none, linear, linear]}
  optimizer.larc: {values: [none, none, none, none, clip]}
  schedule.scaling_batch: {value: 64}
zip: [schedule.scaling, schedule.warmup, optimizer.larc]
when: {schedule.scaling_batch: {schedule.scaling: [sqrt, linear]}}
train:
  model: {name: mlp, hidden: [128]}
  data: {name: fashion-mnist, validation: 5000, split: last}
  epochs: 5
  optimizer: {name: momentum, momentum: 0.9, lr: 0.02}
  schedule: {decay: cosine}
  noise: {every: 0}
limits: {max_nodes_in_flight: 2}
','val/accuracy','maximize',NULL,'finished',1.79580995205620741841e+09,1.79581009417491555216e+09,'[]','[]','[]','',NULL,1);
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
INSERT INTO "trial" VALUES(1,1,1,1,'f759a7988ff5cfa68dde27a780bd6c53','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"none","warmup":"none"},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"none","schedule.warmup":"none","optimizer.larc":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580996213774204258e+09,'');
INSERT INTO "trial" VALUES(1,2,1,2,'f759a7988ff5cfa68dde27a780bd6c53','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"none","warmup":"none"},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"none","schedule.warmup":"none","optimizer.larc":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580996008703732487e+09,'');
INSERT INTO "trial" VALUES(1,3,1,3,'f759a7988ff5cfa68dde27a780bd6c53','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"none","warmup":"none"},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"none","schedule.warmup":"none","optimizer.larc":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580996676419472695e+09,'');
INSERT INTO "trial" VALUES(1,4,2,1,'33c82b3db1122151259df1b45fcda462','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"sqrt","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"sqrt","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580996895888805389e+09,'');
INSERT INTO "trial" VALUES(1,5,2,2,'33c82b3db1122151259df1b45fcda462','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"sqrt","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"sqrt","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580997357096219064e+09,'');
INSERT INTO "trial" VALUES(1,6,2,3,'33c82b3db1122151259df1b45fcda462','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"sqrt","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"sqrt","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580997753489327427e+09,'');
INSERT INTO "trial" VALUES(1,7,3,1,'38d2ffc57cd4e31731cfb0021c75b68d','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"linear","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580998058067965511e+09,'');
INSERT INTO "trial" VALUES(1,8,3,2,'38d2ffc57cd4e31731cfb0021c75b68d','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"linear","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580998566908097268e+09,'');
INSERT INTO "trial" VALUES(1,9,3,3,'38d2ffc57cd4e31731cfb0021c75b68d','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"linear","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580998775913238526e+09,'');
INSERT INTO "trial" VALUES(1,10,4,1,'1a6c54d66e783829e19d18f7ea9c45e8','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580999534450840948e+09,'');
INSERT INTO "trial" VALUES(1,11,4,2,'1a6c54d66e783829e19d18f7ea9c45e8','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580999868180704115e+09,'');
INSERT INTO "trial" VALUES(1,12,4,3,'1a6c54d66e783829e19d18f7ea9c45e8','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581000056648635862e+09,'');
INSERT INTO "trial" VALUES(1,13,5,1,'ef57fdf3f8e4facb169cff6d9967d9cb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"clip"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"clip","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.7958100078911561966e+09,'');
INSERT INTO "trial" VALUES(1,14,5,2,'ef57fdf3f8e4facb169cff6d9967d9cb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"clip"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"clip","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581000815766787534e+09,'');
INSERT INTO "trial" VALUES(1,15,5,3,'ef57fdf3f8e4facb169cff6d9967d9cb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"clip"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":512}}','{"batch.global":512,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"clip","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581001346716260906e+09,'');
INSERT INTO "trial" VALUES(1,16,6,1,'b0b7a744789d51dfc311faaecd0a56f7','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"none","warmup":"none"},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"none","schedule.warmup":"none","optimizer.larc":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581001759887123108e+09,'');
INSERT INTO "trial" VALUES(1,17,6,2,'b0b7a744789d51dfc311faaecd0a56f7','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"none","warmup":"none"},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"none","schedule.warmup":"none","optimizer.larc":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581002423235201832e+09,'');
INSERT INTO "trial" VALUES(1,18,6,3,'b0b7a744789d51dfc311faaecd0a56f7','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"none","warmup":"none"},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"none","schedule.warmup":"none","optimizer.larc":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581002527499914173e+09,'');
INSERT INTO "trial" VALUES(1,19,7,1,'292eb32ba4073c6a662fc122025ec277','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"sqrt","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"sqrt","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581003084353137012e+09,'');
INSERT INTO "trial" VALUES(1,20,7,2,'292eb32ba4073c6a662fc122025ec277','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"sqrt","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"sqrt","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581003213489699362e+09,'');
INSERT INTO "trial" VALUES(1,21,7,3,'292eb32ba4073c6a662fc122025ec277','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"sqrt","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"sqrt","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581003847436928753e+09,'');
INSERT INTO "trial" VALUES(1,22,8,1,'cc6e07f5c6896850de3514c67986f370','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"linear","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581004812558674816e+09,'');
INSERT INTO "trial" VALUES(1,23,8,2,'cc6e07f5c6896850de3514c67986f370','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"linear","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581005520694684989e+09,'');
INSERT INTO "trial" VALUES(1,24,8,3,'cc6e07f5c6896850de3514c67986f370','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"none","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"linear","schedule.warmup":"none","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581006642676353456e+09,'');
INSERT INTO "trial" VALUES(1,25,9,1,'d44ed53bdba387f7a0919daad68b5843','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581006726789259913e+09,'');
INSERT INTO "trial" VALUES(1,26,9,2,'d44ed53bdba387f7a0919daad68b5843','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581007739442443846e+09,'');
INSERT INTO "trial" VALUES(1,27,9,3,'d44ed53bdba387f7a0919daad68b5843','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"none"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"none","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581007612501955027e+09,'');
INSERT INTO "trial" VALUES(1,28,10,1,'cf9334a4d52a8114f04569df06283bcb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"clip"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"clip","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.795810084471395731e+09,'');
INSERT INTO "trial" VALUES(1,29,10,2,'cf9334a4d52a8114f04569df06283bcb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"clip"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"clip","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581008724823379518e+09,'');
INSERT INTO "trial" VALUES(1,30,10,3,'cf9334a4d52a8114f04569df06283bcb','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"epochs":5,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02,"larc":"clip"},"schedule":{"decay":"cosine","scaling":"linear","warmup":"linear","scaling_batch":64},"noise":{"every":0},"batch":{"global":2048}}','{"batch.global":2048,"schedule.scaling":"linear","schedule.warmup":"linear","optimizer.larc":"clip","schedule.scaling_batch":64}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581009416692280768e+09,'');
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
INSERT INTO "sqlite_sequence" VALUES('event',182);
COMMIT;
